"""What is: the objects of a cluster, the only way to change them, and the log of changes.

Rooms, from the top: writing, quota, admission, validation, log, schema and pods.
A room imports those below it, and the modules beside them.
"""
