"""Classes: who has reached what of an exercise, checked in the clusters of the students.

A cluster is the class: its ConfigMaps `exercise-NN` have the exercises (`exercises`). The cluster
of a student is named `CLASS-NN-STUDENT`. `checking` compares it with the checks of its exercise,
`board` does this for all that a user sees. kits/class creates the clusters.
"""
