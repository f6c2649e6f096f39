"""The store: every change of every object is written here, under row locks, with its log rows.

Other packages import `store`; the other modules are its steps.
"""
