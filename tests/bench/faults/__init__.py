"""Faults that are planted into the float32 reference, to see whether the certificate finds them.

`fault.py` says what a fault is; the modules by theme hold the faults; `every.py` lists them all;
`effect.py` tells whether a fault changes anything in a graph; `proving.py` draws graphs and judges.
"""
