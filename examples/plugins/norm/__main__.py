"""Plugin norm, in Python: root mean square normalisation. docs/plugins-python.md explains it."""
import ptobuild_plugin as pto

from ops import Rms, Rows
from passes import FoldGain

pto.serve("norm", "1.0.0", doc="root mean square normalisation", ops=[Rms(), Rows()], passes=[FoldGain()])
