package admission

import (
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// The phases of admission, as an explanation names them.
const (
	Mutating   = "mutating"
	Validating = "validating"
)

// Explain asks a plugin, and takes down what it has changed or refused, if somebody wants to know.
func (w *Write) Explain(kind, phase, name string, ask func() error) error {
	if w.Explained == nil {
		return ask()
	}
	was := w.state()
	err := ask()
	s := inspect.AdmissionStep{Kind: kind, Phase: phase, Name: name, Outcome: inspect.Allowed, Changes: observe.Changes(was, w.state())}
	switch {
	case err != nil:
		s.Outcome, s.Message = inspect.Denied, err.Error()
	case len(s.Changes) > 0:
		s.Outcome = inspect.Changed
	}
	if s.Outcome != inspect.Allowed || kind != inspect.Plugin {
		w.Explained.Step(s)
	}
	return err
}

// state is the object in the version of the request; nil: there is none.
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
