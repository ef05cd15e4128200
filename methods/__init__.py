"""The shipped methods, one file each; variants of a method stand beside it.

What Loom and Tide read in a text has a file of its own, because their calibration needs it before them.
"""
