package diag

import "encoding/json"

// UnmarshalJSON reads what MarshalJSON of a span wrote.
func (s *Span) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*jsonSpan)(s)) }

// UnmarshalJSON reads what MarshalJSON of a report wrote, for reports kept in the cache.
func (d *Diagnostic) UnmarshalJSON(b []byte) error {
	x := struct {
		Severity string
		*fields
	}{fields: (*fields)(d)}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	d.Severity = Error
	for _, s := range []Severity{Warning, Note} {
		if x.Severity == s.String() {
			d.Severity = s
		}
	}
	return nil
}

// fields are those of a report, without its methods.
type fields Diagnostic
