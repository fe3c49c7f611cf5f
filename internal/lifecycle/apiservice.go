package lifecycle

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// managed is the label of the APIServices that a server makes itself. The value "true" is that
// of versions of definitions. It is "onstart" for the server's own versions: those APIServices
// are made once, and are the users' from then on.
const (
	managedLabel  = "kube-aggregator.kubernetes.io/automanaged"
	managedAlways = "true"
)

// apiServices is the plural name of APIServices.
const apiServices = "apiservices"

func isAPIService(r *resource.Resource) bool {
	return r.Group == apiregistrationv1.GroupName && r.Names.Plural == apiServices
}

// noteAPIServices adds the tasks for APIServices: each served version of a definition has one,
// and the condition of each says whether its server is there.
func (r *Reactor) noteAPIServices(list *tasks, c Change) {
	switch {
	case c.Resource == r.server.Definitions():
		if !c.Deleted && generationOf(c.Previous.Value) == generationOf(c.Record.Value) {
			return // the versions are the same
		}
		list.add(registerVersion, versionsOf(c.Previous.Value)...)
		if c.Deleted {
			return
		}
		// Definitions are large, and the catalogue has read the new one.
		catalogue, err := r.server.Catalogue()
		if err != nil {
			r.server.Tell(registerVersion, c.Name, err)
			return
		}
		if d := catalogue.Definition(c.Name); d != nil {
			list.add(registerVersion, apiServicesOf(d)...)
		}
	case isAPIService(c.Resource):
		list.add(registerVersion, c.Name)
		if !c.Deleted {
			list.add(judgeAPIService, c.Name)
		}
	case c.Resource.Group == "" && c.Resource.Names.Plural == "services":
		list.add(judgeAPIService, r.server.APIServicesOf(c.Namespace, c.Name)...)
	case c.Resource.Group == discoveryv1.GroupName && c.Resource.Names.Plural == "endpointslices":
		for _, text := range []string{c.Record.Value, c.Previous.Value} {
			if service := metadata.Get(text, "labels."+gjson.Escape(discoveryv1.LabelServiceName)).Str; service != "" {
				list.add(judgeAPIService, r.server.APIServicesOf(c.Namespace, service)...)
			}
		}
	}
}

func generationOf(text string) int64 { return metadata.Get(text, "generation").Int() }

// apiServicesOf returns the names of the APIServices of all versions of a definition.
func apiServicesOf(d *resource.Definition) []string {
	names := make([]string, len(d.Versions))
	for i, v := range d.Versions {
		names[i] = v + "." + d.Group
	}
	return names
}

// versionsOf returns the names of the APIServices of all versions of a definition.
func versionsOf(definition string) []string {
	group := groupOf(definition)
	var names []string
	for _, v := range gjson.Get(definition, "spec.versions.#.name").Array() {
		names = append(names, v.Str+"."+group)
	}
	return names
}

// resumeAPIServices adds the versions whose APIService is not as it has to be.
func (r *Reactor) resumeAPIServices(list *tasks, c *resource.Catalogue) error {
	wanted := map[string]bool{}
	for _, d := range c.Definitions("*") {
		for _, v := range d.Serves {
			wanted[v+"."+d.Group] = true
		}
	}
	under := c.Resource(apiregistrationv1.GroupName, apiServices)
	records, err := r.server.List(under, "")
	if err != nil {
		return err
	}
	for _, record := range records {
		name := under.NameOf(record.Key)
		if wanted[name] {
			delete(wanted, name)
		} else if strings.Contains(record.Value, `"`+managedLabel+`":"`+managedAlways+`"`) {
			list.add(registerVersion, name)
		}
	}
	for name := range wanted {
		list.add(registerVersion, name)
	}
	return nil
}

// registerVersion makes, changes or deletes the APIService of a version, so that there is one
// exactly if a definition serves the version. An APIService of a user's stays as it is.
func (r *Reactor) registerVersion(ctx context.Context, name string) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	version, group, _ := strings.Cut(name, ".")
	serves := slices.ContainsFunc(catalogue.Definitions(group), func(d *resource.Definition) bool { return slices.Contains(d.Serves, version) })
	spec := apiregistrationv1.APIServiceSpec{
		Group: group, Version: version,
		GroupPriorityMinimum: int32(crd.Priority.Group), VersionPriority: int32(crd.Priority.Version),
	}
	under := catalogue.Resource(apiregistrationv1.GroupName, apiServices)
	obj, was, err := r.server.Get(ctx, under, "", name)
	switch {
	case apierrors.IsNotFound(err) && serves:
		return r.server.Create(ctx, under, &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedLabel: managedAlways}}, Spec: spec,
		})
	case err != nil:
		return err
	}
	current := obj.(*apiregistrationv1.APIService)
	switch {
	case current.Labels[managedLabel] != managedAlways:
		return nil
	case !serves && catalogue.Group(group) != nil && catalogue.Group(group).IsOwn(version):
		return nil
	case !serves:
		return r.server.Delete(ctx, under, was)
	case equality.Semantic.DeepEqual(current.Spec, spec):
		return nil
	}
	current.Spec = spec
	return r.server.Update(ctx, under, "", was, current)
}

// judgeAPIService brings the condition Available of an APIService up to date.
func (r *Reactor) judgeAPIService(ctx context.Context, list *tasks, name string) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	under := catalogue.Resource(apiregistrationv1.GroupName, apiServices)
	obj, was, err := r.server.Get(ctx, under, "", name)
	if err != nil {
		return err
	}
	a := obj.(*apiregistrationv1.APIService)
	before := a.Status.DeepCopy()
	if a.Spec.Service == nil {
		helper.SetAPIServiceCondition(a, apiregistrationv1.APIServiceCondition{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: r.server.Now(),
			Reason: "Local", Message: "Local APIServices are always available",
		})
	} else {
		helper.SetAPIServiceCondition(a, r.server.Available(ctx, a))
	}
	if equality.Semantic.DeepEqual(*before, a.Status) {
		return nil
	}
	// The write of the condition itself is no reason to ask the server again.
	list.own = task{judgeAPIService, name}
	defer func() { list.own = task{} }()
	return r.server.Update(ctx, under, "status", was, a)
}

// JudgeAPIService brings the condition Available of an APIService up to date, and does what
// follows from that.
func (r *Reactor) JudgeAPIService(ctx context.Context, name string) {
	list := &tasks{}
	list.add(judgeAPIService, name)
	r.work(ctx, list)
}
