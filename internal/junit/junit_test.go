package junit_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/junit"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	cases := []junit.Case{
		{Class: "//a:f", Name: "f", Took: 1500 * time.Millisecond, Output: "a warning"},
		{Class: "//a:g", Name: "g<1>", Failure: "x[0] is 1, not 2\n  at a.py:3\x00\x1b"},
	}
	if err := junit.Write(&b, "pto", cases); err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="pto" tests="2" failures="1" errors="0" time="1.500">
    <testcase classname="//a:f" name="f" time="1.500">
      <system-out>a warning</system-out>
    </testcase>
    <testcase classname="//a:g" name="g&lt;1&gt;" time="0.000">
      <failure message="x[0] is 1, not 2">`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
	// Whatever a test said, the file can be read.
	for dec := xml.NewDecoder(&b); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
