"""Mixed-precision training, from the bits of a float to a full AMP run of ResNet50.

Importing the package loads nothing: each part is imported where it is used, as in
`from ampcourse.formats import FP16`.
"""

__version__ = "0.1.0"
