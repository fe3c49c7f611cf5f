package admission

import (
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// The phases of admission in an explanation.
const (
	Mutating   = "mutating"
	Validating = "validating"
)

// Explain calls a plugin, and adds its changes or its error to the explanation, if the client has requested one.
func (w *Write) Explain(kind, phase, name string, call func() error) error {
	if !w.Observe.Explains() {
		return call()
	}
	before := w.state()
	err := call()
	s := inspect.AdmissionStep{Kind: kind, Phase: phase, Name: name, Outcome: inspect.Allowed, Changes: observe.Changes(before, w.state())}
	switch {
	case err != nil:
		s.Outcome, s.Message = inspect.Denied, err.Error()
	case len(s.Changes) > 0:
		s.Outcome = inspect.Changed
	}
	if s.Outcome != inspect.Allowed || kind != inspect.Plugin {
		w.Observe.Step(s)
	}
	return err
}

// state returns the object in the version of the request; nil: there is none.
func (w *Write) state() map[string]any {
	obj := w.GetObject()
	if obj == nil {
		return nil
	}
	versioned, err := w.GetObjectConvertor().ConvertToVersion(obj, w.GetKind().GroupVersion())
	if err != nil {
		return nil
	}
	return observe.Map(versioned)
}
