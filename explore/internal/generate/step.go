package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The verbs of steps.
const (
	// Create creates the object. Steps set and remove before it change what is created.
	Create = "create"
	// Set and Remove change a field of the object.
	Set    = "set"
	Remove = "remove"
	// Delete deletes the object.
	Delete = "delete"
	// Restart stops the operator and starts it again.
	Restart = "restart"
	// Fail and Heal make the workloads of the cluster unavailable, and available again.
	Fail = "fail"
	Heal = "heal"
	// DeleteOwned deletes an object that the operator has made, and EditOwned changes a field of it.
	DeleteOwned = "delete-owned"
	EditOwned   = "edit-owned"
	// Occupy creates an object of somebody else under the name of one that the operator makes. Mark sets a label and an annotation on one of the operator,
	// or on the custom resource, which gets a finalizer, too.
	Occupy = "occupy"
	Mark   = "mark"
	// Withdraw deletes an object that the custom resource needs, such as a Secret, and Provide creates it again.
	Withdraw = "withdraw"
	Provide  = "provide"
	// EditNeed changes a field of such an object. The value null removes it.
	EditNeed = "edit-need"
	// Neighbor creates a second object beside the first one, and Namesake one with the same name in another namespace.
	Neighbor = "neighbor"
	Namesake = "namesake"
	// Upgrade installs the next version of the operator in place of the present one, and Downgrade the first one again.
	Upgrade   = "upgrade"
	Downgrade = "downgrade"
	// Rewrite writes each custom resource as it is, so that it is stored in the storage version.
	Rewrite = "rewrite"
)

// arguments are the arguments of each verb: o an object, such as deployments.apps default/home; p a path,
// such as /spec/replicas; v a value in JSON.
var arguments = map[string]string{
	Create: "", Set: "pv", Remove: "p", Delete: "", Restart: "", Fail: "", Heal: "",
	DeleteOwned: "o", EditOwned: "opv", Withdraw: "o", Provide: "o", EditNeed: "opv", Neighbor: "", Namesake: "",
	Occupy: "o", Mark: "o",
	Upgrade: "", Downgrade: "", Rewrite: "",
}

// Step is one thing that a user, or the world, does in a trial.
type Step struct {
	Verb string
	// Object is what the verb is for, such as deployments.apps default/home.
	Object string
	// Path is a JSON pointer.
	Path string
	// Value is a JSON value, as in an unstructured object.
	Value any
	// Rush is set if the step follows the one before without a pause.
	Rush bool
}

// String returns the step as [Parse] reads it.
func (s Step) String() string {
	text := s.Verb
	for _, a := range arguments[s.Verb] {
		switch a {
		case 'o':
			text += " " + s.Object
		case 'p':
			text += " " + s.Path
		case 'v':
			text += " " + jsonOf(s.Value)
		}
	}
	return text
}

func jsonOf(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "null"
	}
	return strings.TrimSpace(b.String())
}

// Text returns steps as [Parse] reads them: "create; set /spec/replicas 3". An & in place of the semicolon
// stands before a step that follows without a pause.
func Text(steps []Step) string {
	var b strings.Builder
	for i, s := range steps {
		switch {
		case i == 0:
		case s.Rush:
			b.WriteString(" & ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(s.String())
	}
	return b.String()
}

// Parse reads steps from text.
func Parse(text string) ([]Step, error) {
	var steps []Step
	rush := false
	for text = strings.TrimSpace(text); text != ""; {
		s := Step{Rush: rush}
		s.Verb, text = word(text)
		args, ok := arguments[s.Verb]
		if !ok {
			return nil, fmt.Errorf("unknown step %q; the steps are %s", s.Verb, strings.Join(slices.Sorted(maps.Keys(arguments)), ", "))
		}
		for _, a := range args {
			switch a {
			case 'o':
				var resource, name string
				resource, text = word(text)
				name, text = word(text)
				if name == "" {
					return nil, fmt.Errorf("the step %s needs an object, such as deployments.apps default/home", s.Verb)
				}
				s.Object = resource + " " + name
			case 'p':
				s.Path, text = word(text)
				if !strings.HasPrefix(s.Path, "/") {
					return nil, fmt.Errorf("the step %s needs a path that begins with a slash, such as /spec/replicas, not %q", s.Verb, s.Path)
				}
			case 'v':
				d := json.NewDecoder(strings.NewReader(text))
				d.UseNumber()
				if err := d.Decode(&s.Value); err != nil {
					return nil, fmt.Errorf("the value of the step %s %s is not JSON: %w", s.Verb, s.Path, err)
				}
				s.Value = numbers(s.Value)
				text = strings.TrimSpace(text[d.InputOffset():])
			}
		}
		steps = append(steps, s)
		if text == "" {
			break
		}
		if rush = text[0] == '&'; !rush && text[0] != ';' {
			return nil, fmt.Errorf("a semicolon or & must follow the step %q, not %q", s, text)
		}
		text = strings.TrimSpace(text[1:])
	}
	return steps, nil
}

// word cuts the first word off a text, which ends before a blank or a semicolon.
func word(text string) (first, rest string) {
	end := strings.IndexAny(text, " ;&")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// numbers turns the numbers of a decoded value into int64 and float64, as in an unstructured object.
func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return value
}
