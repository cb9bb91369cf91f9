package eval

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
)

// The module json, which programs read configurations with.

var excJSON = excClass("JSONDecodeError", excValue)

func jsonModule() map[string]Value {
	plainOnly := func(l *Loader, fn string, kws []NamedValue) {
		for _, k := range kws {
			l.unknown("the argument '%s' of json.%s", k.Name, fn)
		}
	}
	return map[string]Value{
		"JSONDecodeError": excJSON,
		"loads": builtinFunc("loads", func(l *Loader, args []Value, kws []NamedValue) Value {
			plainOnly(l, "loads", kws)
			l.want("loads", args, nil, 1, 1)
			if b, ok := args[0].(Bytes); ok {
				return l.fromJSON(string(b))
			}
			return l.fromJSON(l.argStr(args[0], "loads"))
		}),
		"load": builtinFunc("load", func(l *Loader, args []Value, kws []NamedValue) Value {
			plainOnly(l, "load", kws)
			l.want("load", args, nil, 1, 1)
			return l.fromJSON(l.argStr(l.call(l.getattr(args[0], "read"), nil, nil), "load"))
		}),
	}
}

// fromJSON reads one JSON value.
func (l *Loader) fromJSON(text string) Value {
	l.size(len(text))
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := l.jsonValue(d)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("extra data")
		} else if err == io.EOF {
			return v
		}
	}
	if err == io.EOF {
		err = errors.New("the text ends too early")
	}
	line := 1 + strings.Count(text[:min(int(d.InputOffset()), len(text))], "\n")
	if strings.Contains(text, "NaN") || strings.Contains(text, "Infinity") { // Python may read them
		l.unknown("JSON with NaN or Infinity")
	}
	l.throw(newException(excJSON, Str("line "+itoa(line)+": "+err.Error())))
	return nil
}

func (l *Loader) jsonValue(d *json.Decoder) (Value, error) {
	l.charge(1)
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case bool:
		return Bool(t), nil
	case string:
		return Str(t), nil
	case json.Number:
		s := t.String()
		if !strings.ContainsAny(s, ".eE") {
			if i, ok := parseInt(s, 10); ok {
				return i, nil
			}
		}
		f, err := t.Float64()
		if err != nil && !math.IsInf(f, 0) {
			return nil, err
		}
		return Float(f), nil
	case json.Delim:
		l.nest()
		defer l.unnest()
		if t == '[' {
			list := &List{}
			for d.More() {
				v, err := l.jsonValue(d)
				if err != nil {
					return nil, err
				}
				list.Elems = append(list.Elems, v)
			}
			_, err := d.Token()
			return list, err
		}
		dict := &Dict{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := l.jsonValue(d)
			if err != nil {
				return nil, err
			}
			name, _ := k.(string)
			dict.set(name, Str(name), v)
		}
		_, err := d.Token()
		return dict, err
	}
	return None, nil
}
