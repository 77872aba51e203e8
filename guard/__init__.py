"""guard: which protected files would this destroy?"""

__version__ = "0.1.0"
