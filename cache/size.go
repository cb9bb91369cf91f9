package cache

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}

// ParseSize reads a number of bytes: "10GiB", "500 MB", "0".
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(strings.TrimSpace(s), u.suffix)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if x *= u.bytes; err != nil || !(0 <= x && x < math.MaxInt64) {
			break
		}
		return int64(x), nil
	}
	return 0, fmt.Errorf("%q is no size: write it like 10GiB, 500MB or 0", s)
}

// FormatSize writes a number of bytes for people.
func FormatSize(n int64) string {
	units := sizeUnits[:4]
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; float64(n) >= u.bytes {
			return strconv.FormatFloat(float64(n)/u.bytes, 'f', 1, 64) + " " + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}
