package ir

// DType is an element type of tensors, tiles, arrays and scalars. The numeric values are the codes of the PyPTO data types
// (spec: dsl-ir 2.5).
type DType uint8

const (
	NoDType   DType = 0xFF
	BOOL      DType = 0x00
	INT4      DType = 0x10
	INT8      DType = 0x11
	INT16     DType = 0x12
	INT32     DType = 0x13
	INT64     DType = 0x14
	INDEX     DType = 0x15
	UINT4     DType = 0x20
	UINT8     DType = 0x21
	UINT16    DType = 0x22
	UINT32    DType = 0x23
	UINT64    DType = 0x24
	FP4       DType = 0x30
	FP8E4M3FN DType = 0x31
	FP8E5M2   DType = 0x32
	FP16      DType = 0x33
	FP32      DType = 0x34
	FP64      DType = 0x35
	FP8E8M0   DType = 0x36
	BF16      DType = 0x40
	HF4       DType = 0x41
	HF8       DType = 0x42
	TASK_ID   DType = 0x50
)

type dtypeInfo struct {
	name string // as in pl.NAME
	text string // as in messages
	bits int
}

// dtypes is indexed by code; an entry without a name is not a dtype.
var dtypes = [256]dtypeInfo{
	BOOL: {"BOOL", "bool", 1}, INT4: {"INT4", "int4", 4}, INT8: {"INT8", "int8", 8}, INT16: {"INT16", "int16", 16},
	INT32: {"INT32", "int32", 32}, INT64: {"INT64", "int64", 64}, INDEX: {"INDEX", "index", 64},
	UINT4: {"UINT4", "uint4", 4}, UINT8: {"UINT8", "uint8", 8}, UINT16: {"UINT16", "uint16", 16},
	UINT32: {"UINT32", "uint32", 32}, UINT64: {"UINT64", "uint64", 64},
	FP4: {"FP4", "fp4", 4}, FP8E4M3FN: {"FP8E4M3FN", "fp8e4m3fn", 8}, FP8E5M2: {"FP8E5M2", "fp8e5m2", 8},
	FP8E8M0: {"FP8E8M0", "fp8e8m0", 8}, FP16: {"FP16", "fp16", 16}, BF16: {"BF16", "bfloat16", 16},
	FP32: {"FP32", "fp32", 32}, FP64: {"FP64", "fp64", 64}, HF4: {"HF4", "hf4", 4}, HF8: {"HF8", "hf8", 8},
	TASK_ID: {"TASK_ID", "task_id", 64},
}

var dtypeByName = func() map[string]DType {
	m := make(map[string]DType)
	for d, i := range dtypes {
		if i.name != "" {
			m[i.name] = DType(d)
		}
	}
	return m
}()

// DTypeNamed returns the dtype written pl.NAME in the DSL.
func DTypeNamed(name string) (DType, bool) { d, ok := dtypeByName[name]; return d, ok }

// DTypeNames lists the names that DTypeNamed knows, for suggestions.
func DTypeNames() []string {
	var names []string
	for _, i := range dtypes {
		if i.name != "" {
			names = append(names, i.name)
		}
	}
	return names
}

// IsValid reports one of the codes above, NoDType excluded.
func (d DType) IsValid() bool { return dtypes[d].name != "" }

// Name is the DSL spelling without "pl.": "FP32".
func (d DType) Name() string { return dtypes[d].name }

// String is the spelling in messages: "fp32".
func (d DType) String() string {
	if d.IsValid() {
		return dtypes[d].text
	}
	return "no dtype"
}

// Bits is the width of one element.
func (d DType) Bits() int { return dtypes[d].bits }

// Bytes is the storage of one element, rounded up to whole bytes.
func (d DType) Bytes() int { return (dtypes[d].bits + 7) / 8 }

// IsFloat reports a floating dtype.
func (d DType) IsFloat() bool { return d >= 0x30 && d < 0x50 }

// IsInt reports a signed or unsigned integer dtype, INDEX included, BOOL and TASK_ID excluded.
func (d DType) IsInt() bool { return d >= 0x10 && d < 0x30 }

// IsSigned reports a signed integer dtype, INDEX included.
func (d DType) IsSigned() bool { return d >= 0x10 && d < 0x20 }
