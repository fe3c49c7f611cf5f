package rest_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/store"
)

func withController(name string) func(*options, *store.Options) {
	return func(o *options, _ *store.Options) { o.Controllers = append(o.Controllers, name) }
}

// A real controller would write it into its log, and try again later.
func TestARefusedWriteOfAControllerIsReportedAndTriedAgainWithTheNextWrite(t *testing.T) {
	refuses := true
	p := &plugin{validate: func(w *restadmission.Write) error {
		if refuses && w.GetOperation() == admission.Create && w.GetResource().Resource == "serviceaccounts" {
			return errors.New("no accounts today")
		}
		return nil
	}}
	c := start(t, withPlugin(p), withController("serviceaccount-controller"))
	var reported []string
	c.server.Messages.To(func(message string) { reported = append(reported, message) })
	defer c.server.Messages.To(nil)
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}`)
	expect(t, "reported", strings.Join(reported, "\n"), "fakecluster: serviceaccount-controller team: no accounts today; the next related write tries again")
	const account = "/api/v1/namespaces/team/serviceaccounts/default"
	expect(t, "account", c.do("GET", account, nil, "").code, 404)
	refuses = false
	c.must("PUT", "/api/v1/namespaces/team", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"a":"b"}}}`)
	expect(t, "account", c.do("GET", account, nil, "").code, 200)
	expect(t, "reported", len(reported), 1)
}
