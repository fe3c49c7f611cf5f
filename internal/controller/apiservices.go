package controller

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
)

var apiServices = kind{apiregistrationv1.GroupName, "apiservices"}

// managedLabel is the label of APIServices that a server creates. Its value is "true" for versions of definitions. It is
// "onstart" for the server's own versions: these APIServices are created once, and belong to the users then.
const (
	managedLabel  = "kube-aggregator.kubernetes.io/automanaged"
	managedAlways = "true"
)

// apiServiceRegistration creates, changes or deletes the APIService of a version, so that one exists exactly if a
// definition serves the version. It leaves APIServices of users alone.
func apiServiceRegistration() *controller {
	return &controller{
		identity: APIServer,
		follows: []followed{
			{kind: definitions, concerns: func(s *step, c change) error {
				if !c.Deleted && generationOf(c.Previous.Value) == generationOf(c.Record.Value) {
					return nil // the versions are the same
				}
				s.enqueue(versionsOf(c.Previous.Value)...)
				if c.Deleted {
					return nil
				}
				// Definitions are large; the registry has already decoded the new one.
				registry, err := s.server.Registry()
				if err != nil {
					return err
				}
				if d := registry.Definition(c.Name); d != nil {
					for _, v := range d.Versions {
						s.enqueue(key{name: v + "." + d.Group})
					}
				}
				return nil
			}},
			{kind: apiServices, concerns: func(s *step, c change) error {
				s.enqueue(c.key())
				return nil
			}},
		},
		resume:  resumeRegistration,
		catchUp: func(s *step, after int64) error { return enqueueAfter(s, apiServices, after) },
		sync:    syncRegistration,
	}
}

func generationOf(text string) int64 { return metadata.Get(text, "generation").Int() }

// versionsOf returns the keys of the APIServices of all versions of a definition.
func versionsOf(definition string) []key {
	group := groupOf(definition)
	var keys []key
	for _, v := range gjson.Get(definition, "spec.versions.#.name").Array() {
		keys = append(keys, key{name: v.Str + "." + group})
	}
	return keys
}

// resumeRegistration enqueues the versions whose APIService is missing or superfluous.
func resumeRegistration(s *step, _ int64) error {
	registry, err := s.server.Registry()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, d := range registry.Definitions("*") {
		for _, v := range d.Serves {
			wanted[v+"."+d.Group] = true
		}
	}
	v, err := s.version(apiServices)
	if err != nil {
		return err
	}
	records, err := s.records(v.Resource, "")
	if err != nil {
		return err
	}
	for _, record := range records {
		name := v.Resource.NameOf(record.Key)
		if wanted[name] {
			delete(wanted, name)
		} else if strings.Contains(record.Value, `"`+managedLabel+`":"`+managedAlways+`"`) {
			s.enqueue(key{name: name})
		}
	}
	for name := range wanted {
		s.enqueue(key{name: name})
	}
	return nil
}

func syncRegistration(s *step, k key) error {
	registry, err := s.server.Registry()
	if err != nil {
		return err
	}
	version, group, _ := strings.Cut(k.name, ".")
	serves := slices.ContainsFunc(registry.Definitions(group), func(d *resource.Definition) bool { return slices.Contains(d.Serves, version) })
	spec := apiregistrationv1.APIServiceSpec{
		Group: group, Version: version,
		GroupPriorityMinimum: int32(crd.Priority.Group), VersionPriority: int32(crd.Priority.Version),
	}
	current, err := find[*apiregistrationv1.APIService](s, apiServices, "", k.name)
	switch {
	case err != nil || current == nil && !serves:
		return err
	case current == nil:
		return s.create(apiServices, "", &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: k.name, Labels: map[string]string{managedLabel: managedAlways}}, Spec: spec,
		})
	case current.Labels[managedLabel] != managedAlways:
		return nil
	case !serves && registry.Group(group) != nil && registry.Group(group).IsOwn(version):
		return nil
	case !serves:
		return s.delete(apiServices, current, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &current.UID}})
	case equality.Semantic.DeepEqual(current.Spec, spec):
		return nil
	}
	wanted := current.DeepCopy()
	wanted.Spec = spec
	return s.update(apiServices, wanted, "")
}
