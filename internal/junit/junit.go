// Package junit writes test results as JUnit XML, which build systems and code hosts read.
package junit

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"time"
)

// Case is the outcome of one test.
type Case struct {
	Class, Name string
	Took        time.Duration
	Failure     string // first line: the message; "" when it passed
	Output      string // what else the test said
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Time     string     `xml:"time,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *failure `xml:"failure"`
	Output  string   `xml:"system-out,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Write writes the cases as one suite.
func Write(w io.Writer, name string, cases []Case) error {
	s := suite{Name: name, Tests: len(cases)}
	var took time.Duration
	for _, c := range cases {
		took += c.Took
		t := testcase{Class: c.Class, Name: c.Name, Time: seconds(c.Took), Output: c.Output}
		if c.Failure != "" {
			s.Failures++
			first, _, _ := strings.Cut(c.Failure, "\n")
			t.Failure = &failure{first, c.Failure}
		}
		s.Cases = append(s.Cases, t)
	}
	s.Time = seconds(took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suites: []suite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
