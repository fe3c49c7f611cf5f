package controller

import (
	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

var definitions = kind{apiextensions.GroupName, "customresourcedefinitions"}

// groupKey is the task of a key for a group whose definitions may get a name that another one has released.
const groupKey = "group"

// definitionConditions sets the accepted names and the conditions of definitions. When a definition releases a name, it
// also syncs the definitions of its group that wait for one.
func definitionConditions() *controller {
	return &controller{
		identity: APIServer,
		follows: []followed{{kind: definitions, concerns: func(s *step, c change) error {
			if c.Deleted {
				s.enqueue(key{task: groupKey, name: groupOf(c.Record.Value)})
			} else {
				s.enqueue(c.key())
			}
			return nil
		}}},
		resume:  func(s *step, _ int64) error { return enqueueContested(s, "*") },
		catchUp: func(s *step, after int64) error { return enqueueAfter(s, definitions, after) },
		sync: func(s *step, k key) error {
			if k.task == groupKey {
				return enqueueContested(s, k.name)
			}
			return syncConditions(s, k.name)
		},
	}
}

func groupOf(definition string) string { return gjson.Get(definition, "spec.group").Str }

// enqueueContested enqueues the definitions of a group that wait for a name.
func enqueueContested(s *step, group string) error {
	registry, err := s.server.Registry()
	if err != nil {
		return err
	}
	for _, d := range registry.Definitions(group) {
		if d.Contested {
			s.enqueue(key{name: d.Name})
		}
	}
	return nil
}

func syncConditions(s *step, name string) error {
	registry, err := s.server.Registry()
	if err != nil {
		return err
	}
	definition, err := s.definition(name)
	if err != nil {
		return err
	}
	var others []resource.Names
	for _, d := range registry.Definitions(definition.Spec.Group) {
		if d.Name != name {
			others = append(others, d.Accepted)
		}
	}
	if !crd.SetConditions(definition, others, metav1.NewTime(s.now())) {
		return nil
	}
	// The update fails if any definition has changed since the registry was read, so that
	// two definitions never get the same name.
	v, err := s.version(definitions)
	if err != nil {
		return err
	}
	s.read = append(s.read, store.Precondition{Key: v.Resource.Prefix, Revision: registry.Revision, Prefix: true})
	if err := s.update(definitions, definition, "status"); err != nil {
		return err
	}
	return enqueueContested(s, definition.Spec.Group)
}

// definition returns a copy of a definition, of the internal type.
func (s *step) definition(name string) (*apiextensions.CustomResourceDefinition, error) {
	v, err := s.version(definitions)
	if err != nil {
		return nil, err
	}
	record, err := s.record(v.Resource, "", name)
	if err != nil {
		return nil, err
	}
	current, err := s.server.Memory.Decode(v.Resource.Storage, record)
	if err != nil {
		return nil, err
	}
	return v.Resource.Storage.Codec.Copy(current.Object).(*apiextensions.CustomResourceDefinition), nil
}

func hasCondition(definition *apiextensions.CustomResourceDefinition, want apiextensions.CustomResourceDefinitionCondition) bool {
	have := apiextensions.FindCRDCondition(definition, want.Type)
	return have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message
}
