"""The in-tree plugins, one module or small package each."""
