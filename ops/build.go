package ops

import "github.com/ptobuild/ptobuild/ir"

// Shorthand for the tables of specs.

func tensorP(name string) Param              { return Param{Name: name, Kind: TensorArg} }
func tileP(name string, mem ...ir.Mem) Param { return Param{Name: name, Kind: TileArg, Mem: mem} }
func scalarP(name string) Param              { return Param{Name: name, Kind: ScalarArg} }
func listP(name string) Param                { return Param{Name: name, Kind: TupleArg} }
func kindP(name string, k ParamKind) Param   { return Param{Name: name, Kind: k} }

func optional(p Param) Param { p.Optional = true; return p }

func params(ps ...Param) []Param { return ps }

var (
	fresh = Result{Kind: Fresh}
	value = Result{Kind: Value}
	noneR = Result{Kind: None}
)

func viewOf(arg int) Result  { return Result{Kind: View, Arg: arg} }
func inPlace(arg int) Result { return Result{Kind: InPlace, Arg: arg} }

// each makes one spec per (name, doc) pair from a prototype.
func each(ns string, proto Spec, namesDocs ...string) []*Spec {
	out := make([]*Spec, 0, len(namesDocs)/2)
	for i := 0; i < len(namesDocs); i += 2 {
		s := proto
		s.Name, s.Doc = ns+"."+namesDocs[i], namesDocs[i+1]
		out = append(out, &s)
	}
	return out
}

var (
	dtypeKw   = Kwarg{Name: "dtype", Kind: DTypeKw, Required: true}
	memNames  = []string{"DDR", "Vec", "Mat", "Left", "Right", "Acc", "Bias", "ScalarLocal", "LeftScale", "RightScale"}
	padNames  = []string{"null", "zero", "max", "min"}
	castModes = []string{"none", "rint", "round", "floor", "ceil", "trunc", "odd"}
	atomicKw  = Kwarg{Name: "atomic", Kind: EnumKw, Enum: "AtomicType", Names: []string{"None_", "Add"}}
	layoutKw  = Kwarg{Name: "layout", Kind: EnumKw, Enum: "TensorLayout", Names: []string{"ND", "DN", "NZ", "MX_A_ZZ", "MX_B_NN"}}
	padKw     = Kwarg{Name: "pad_value", Kind: PadKw}
	splitKw   = Kwarg{Name: "split", Kind: IntKw, Names: []string{"NONE", "UP_DOWN", "LEFT_RIGHT"}, Max: 4} // 3 and 4: for odd lanes
)

func targetMemKw(d ir.Mem) Kwarg {
	k := Kwarg{Name: "target_memory", Kind: EnumKw, Enum: "Mem", Names: memNames}
	if d != ir.MemUnset {
		k.Default = ir.Enum{Kind: "Mem", Name: string(d)}
	}
	return k
}

func intKw(name string) Kwarg { return Kwarg{Name: name, Kind: IntKw} }
func rangeKw(name string, least, most int64) Kwarg {
	return Kwarg{Name: name, Kind: IntKw, Min: least, Max: most}
}
func boolKw(name string) Kwarg                 { return Kwarg{Name: name, Kind: BoolKw} }
func strKw(name string, names ...string) Kwarg { return Kwarg{Name: name, Kind: StrKw, Names: names} }

func splitName(name string) (ns, leaf string) {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[:i], name[i+1:]
		}
	}
	return "", name
}
