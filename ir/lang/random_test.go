package lang_test

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir/irtest"
)

// TestRandomRoundTrip prints random programs and reads them back.
func TestRandomRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		checkRoundTrip(t, irtest.RandomProgram(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
