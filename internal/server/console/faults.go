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

// Inject injects a fault until its Stop or the end of the cluster. It fails for a fault that contradicts itself, or that
// names a resource, subresource or verb that the cluster does not serve. A fork does not have the faults of its origin.
func Inject(c *server.Cluster, f faults.Fault) (faults.Injection, error) {
	i, err := c.Faults.Inject(f, served(c))
	if err != nil {
		return nil, err
	}
	return i, nil
}

// UnfiredFaults returns an error for each fault that has never struck and is not Optional.
func UnfiredFaults(c *server.Cluster) (errs []error) {
	for _, i := range c.Faults.Injections() {
		if why := i.Unfired(); why != "" {
			errs = append(errs, errors.New(why))
		}
	}
	return errs
}

// Hold begins to hold back watch events, also of watches that start later. It fails if the cluster has a Hold. Methods
// of the Hold report their errors, such as a resource that is not served, to fail. A fork does not have the Hold of its
// origin.
func Hold(c *server.Cluster, fail func(error)) (faults.Hold, error) {
	h, err := c.Faults.Hold(served(c), fail)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// served returns a check that the cluster serves the resource, subresource and verb of a fault.
func served(c *server.Cluster) faultinjection.Serves {
	return func(resource schema.GroupResource, subresource, verb string) error {
		return serves(c.Registry(), resource, subresource, verb)
	}
}

// serves returns an error if no served version of a resource has the subresource or the verb. Empty arguments match
// everything; the subresource may be AnySubresource.
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

// subresourceVerbsOf returns the verbs of a subresource, or of all of them, in the served versions. ok is false if there
// is no such subresource.
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

// othersCalled returns advice with the resources that a name may mean: those of other groups, and those with this
// singular, kind or short name.
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
