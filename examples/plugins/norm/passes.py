"""norm.rms(x, gain=g) * c is norm.rms(x, gain=g * c)."""
import ptobuild_plugin as pto


class FoldGain(pto.Pass):
    "a factor behind norm.rms becomes its gain"
    name, after, grant = "FoldGain", "Simplify", {"functions": ["AIV", "InCore"]}

    def run(self, ctx, functions):
        def fold(e):
            if pto.op_of(e) != "tile.muls" or pto.op_of(e["args"][0]) != "norm.rms" or pto.constant(e["args"][1]) is None:
                return e
            rms, factor = e["args"][0], pto.constant(e["args"][1])
            ctx.note(e["pos"], "the factor %g becomes the gain" % factor)
            for k in rms["kwargs"]:
                if k["name"] == "gain":
                    k["value"] = {"float": k["value"]["float"] * factor}
            return rms

        for f in functions:
            if f["type"] in ("AIV", "InCore"):
                pto.rewrite(f["body"], fold)
        return functions  # unchanged ones, too: what did not change is not sent
