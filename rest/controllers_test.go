package rest_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

func withController(name string) func(*rest.Options, *store.Options) {
	return func(o *rest.Options, _ *store.Options) { o.Controllers = append(o.Controllers, name) }
}

// A real controller would write it into its log, and try again later.
func TestWhatAControllerIsRefusedIsToldAndTriedAgainWithTheNextWrite(t *testing.T) {
	refuses := true
	p := &plugin{validate: func(w rest.AdmissionWrite) error {
		if refuses && w.GetOperation() == admission.Create && w.GetResource().Resource == "endpoints" {
			return errors.New("no endpoints today")
		}
		return nil
	}}
	c := start(t, withPlugin(p), withController("endpoints-controller"))
	var reports []string
	c.server.OnUnsupported(func(message string) { reports = append(reports, message) })
	defer c.server.OnUnsupported(nil)
	const services = "/api/v1/namespaces/default/services"
	c.must("POST", services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`)
	expect(t, "reports", strings.Join(reports, "\n"), "fakecluster: endpoints-controller default/web: no endpoints today; the next related write tries again")
	expect(t, "endpoints", c.do("GET", "/api/v1/namespaces/default/endpoints/web", nil, "").code, 404)
	refuses = false
	c.must("POST", "/api/v1/namespaces/default/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	expect(t, "endpoints", c.do("GET", "/api/v1/namespaces/default/endpoints/web", nil, "").code, 200)
	expect(t, "reports", len(reports), 1)
}
