package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/server"
)

// Inject puts a fault in force, until its Stop or the end of the cluster. It fails for a fault that
// contradicts itself, or that names a resource, subresource or verb that the cluster does not serve. A
// fork has none of the faults of its origin.
func Inject(c *server.Cluster, f faults.Fault) (faults.Injection, error) {
	i, err := c.Faults.Inject(f, served(c))
	if err != nil {
		return nil, err
	}
	return i, nil
}

// UnfiredFaults returns an error for each fault that has struck nothing and is not Optional.
func UnfiredFaults(c *server.Cluster) (errs []error) {
	for _, i := range c.Faults.Injections() {
		if why := i.Unfired(); why != "" {
			errs = append(errs, errors.New(why))
		}
	}
	return errs
}

// Hold begins to keep watch events back, also those of watches that begin later. It fails if there is
// another Hold. The Hold calls fail with the errors of its methods, such as that a resource is not
// served. A fork has no Hold.
func Hold(c *server.Cluster, fail func(error)) (faults.Hold, error) {
	h, err := c.Faults.Hold(served(c), fail)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// served returns the check that a cluster serves what a fault names.
func served(c *server.Cluster) faultinjection.Serves {
	return func(resource schema.GroupResource, subresource, verb string) error {
		return serves(c.Registry(), resource, subresource, verb)
	}
}

// serves returns an error if no version of a resource that is served has the subresource or the verb.
// Any of them may be empty, or the subresource any.
func serves(c *resource.Registry, resource schema.GroupResource, subresource, verb string) error {
	if resource.Resource == "" {
		for _, group := range c.Groups() {
			for _, res := range group.Resources {
				if verbs, ok := subresourceVerbsOf(res, subresource); ok && (verb == "" || slices.Contains(verbs, verb)) {
					return nil
				}
			}
		}
		return fmt.Errorf("no resource has the subresource %q%s", subresource, withVerb(verb))
	}
	res := c.Resource(resource.Group, resource.Resource)
	if res == nil {
		return fmt.Errorf("there is no resource %q%s", resource, othersCalled(c, resource))
	}
	verbs := res.Verbs
	if subresource != "" {
		its, ok := subresourceVerbsOf(res, subresource)
		if !ok && subresource != faults.AnySubresource {
			return fmt.Errorf("%s has no subresource %q", resource, subresource)
		}
		if subresource == faults.AnySubresource {
			its = append(slices.Clone(verbs), its...)
		}
		verbs = its
	}
	if verb != "" && !slices.Contains(verbs, verb) {
		what := resource.String()
		if subresource != "" && subresource != faults.AnySubresource {
			what += "/" + subresource
		}
		return fmt.Errorf("%s has no verb %q; it has %s", what, verb, strings.Join(verbs, ", "))
	}
	return nil
}

func withVerb(verb string) string {
	if verb == "" {
		return ""
	}
	return fmt.Sprintf(" with the verb %q", verb)
}

// subresourceVerbsOf returns the verbs of a subresource, or of all, in the versions that are served;
// ok is false if there is no such subresource.
func subresourceVerbsOf(res *resource.Resource, subresource string) (verbs []string, ok bool) {
	for _, v := range res.Versions {
		for name, s := range v.Subresource {
			if v.Served && (name == subresource || subresource == faults.AnySubresource) {
				verbs, ok = append(verbs, s.Verbs...), true
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs), ok
}

// othersCalled names the resources that a name may mean: those of other groups, and those with this singular, kind or short name.
func othersCalled(c *resource.Registry, resource schema.GroupResource) string {
	var found []string
	for _, group := range c.Groups() {
		for _, res := range group.Resources {
			n := res.Names
			called := append([]string{n.Plural, n.Singular, strings.ToLower(n.Kind)}, n.ShortNames...)
			if slices.Contains(called, strings.ToLower(resource.Resource)) && (resource.Group == "" || resource.Group == group.Name || n.Plural == resource.Resource) {
				found = append(found, strconv.Quote(res.GroupResource().String()))
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; write " + strings.Join(slices.Compact(found), " or ")
}
