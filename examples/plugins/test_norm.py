"""Tests of the ops of plugin norm without ptobuild: `python3 -m unittest` in this folder."""
import sys
import unittest

sys.path[:0] = ["norm", "../../plugins/python"]  # the library lies in plugins/python of ptobuild
import ptobuild_plugin as pto
from ops import Rms, Rows


class TestNorm(unittest.TestCase):
    def test_numbers(self):
        (got,) = pto.testing.evaluate(Rms(), [[2.0, -2.0, 2.0, -2.0]], gain=3.0, eps=0.0)
        self.assertEqual(got, [3.0, -3.0, 3.0, -3.0])

    def test_rows_divide(self):
        with self.assertRaisesRegex(pto.Report, "do not divide 40"):
            pto.testing.infer(Rows(), pto.tensor_type([40, 8], "FP32"), 0, n=16)


if __name__ == "__main__":
    unittest.main()
