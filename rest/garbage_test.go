package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/store"
)

const (
	configMapsPath = "/api/v1/namespaces/default/configmaps"
	secretsPath    = "/api/v1/namespaces/default/secrets"
)

func withCollection(o *options, _ *store.Options) {
	o.Controllers = append(o.Controllers, "garbage-collector-controller")
}

// ownedSecret is a Secret that blocks the deletion of a ConfigMap.
func (c *cluster) ownedSecret(name, owner, more string) string {
	uid := gjson.Get(c.must("GET", configMapsPath+"/"+owner, ""), "metadata.uid").Str
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,%s"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":true}]}}`,
		name, more, owner, uid)
}

func (c *cluster) configMap(name string) {
	c.must("POST", configMapsPath, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
}

func TestTheCollectorAsksAsItself(t *testing.T) {
	var calls []string
	p := &plugin{validate: func(w *restadmission.Write) error {
		if w.GetUserInfo().GetName() == "system:serviceaccount:kube-system:generic-garbage-collector" {
			text := fmt.Sprintf("%s %s %s %v", w.GetOperation(), w.GetResource().Resource, w.GetName(), w.GetUserInfo().GetGroups())
			if options, ok := w.GetOperationOptions().(*metav1.DeleteOptions); ok {
				text += fmt.Sprintf(" %s %s %s", *options.PropagationPolicy, *options.Preconditions.UID, *options.Preconditions.ResourceVersion)
			}
			calls = append(calls, text)
		}
		return nil
	}}
	c := start(t, withPlugin(p), withCollection)
	c.configMap("owner")
	secret := c.must("POST", secretsPath, c.ownedSecret("dependent", "owner", ""))
	c.must("DELETE", configMapsPath+"/owner?propagationPolicy=Foreground", "")
	groups := "[system:serviceaccounts system:serviceaccounts:kube-system system:authenticated]"
	expect(t, "admission calls", calls, []string{
		fmt.Sprintf("DELETE secrets dependent %s Background %s %s", groups,
			gjson.Get(secret, "metadata.uid").Str, gjson.Get(secret, "metadata.resourceVersion").Str),
		"UPDATE configmaps owner " + groups,
	})
}

// TestARefusedDeleteIsTriedOnceAWrite denies the collector what it wants to delete,
// in ways that could be mistaken for others.
func TestARefusedDeleteIsTriedOnceAWrite(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for reason, denial := range map[string]error{
		"forbidden": apierrors.NewForbidden(resource, "dependent", fmt.Errorf("it is needed")),
		"conflict":  apierrors.NewConflict(resource, "dependent", fmt.Errorf("it is needed")),
		"not found": apierrors.NewNotFound(resource, "dependent"),
		"internal":  apierrors.NewInternalError(fmt.Errorf("it is needed")),
	} {
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
			t.Run(reason+" "+string(policy), func(t *testing.T) {
				denied, allow := 0, false
				p := &plugin{validate: func(w *restadmission.Write) error {
					if allow || w.GetOperation() != admission.Delete || w.GetResource().Resource != "secrets" || w.GetName() == "other" {
						return nil
					}
					denied++
					return denial
				}}
				c := start(t, withPlugin(p), withCollection)
				c.configMap("owner")
				c.must("POST", secretsPath, c.ownedSecret("dependent", "owner", ""))
				c.must("POST", secretsPath, c.ownedSecret("other", "owner", ""))
				c.must("DELETE", configMapsPath+"/owner?propagationPolicy="+string(policy), "")
				expect(t, "denied", denied, 1)
				expect(t, "left", namesOf(c.list(secretsPath)), []string{"dependent"})
				waits := c.do("GET", configMapsPath+"/owner", nil, "").code == http.StatusOK
				expect(t, "the owner waits", waits, policy == metav1.DeletePropagationForeground)

				merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
				c.do("PATCH", secretsPath+"/dependent", merge, `{"metadata":{"labels":{"write":"first"}}}`)
				expect(t, "denied after a write", denied, 2)
				c.configMap("bystander")
				expect(t, "denied after a write of something else", denied, 2)
				expect(t, "left", namesOf(c.list(secretsPath)), []string{"dependent"})

				allow = true
				a := c.do("PATCH", secretsPath+"/dependent", merge, `{"metadata":{"labels":{"write":"second"}}}`)
				expect(t, "the write succeeds", a.code, http.StatusOK)
				expect(t, "left", namesOf(c.list(secretsPath)), []string(nil))
				expect(t, "owners left", namesOf(c.list(configMapsPath)), []string{"bystander"})
			})
		}
	}
}

func TestAnOwnerThatWaitsHasItsDependentsTriedAgain(t *testing.T) {
	allow := false
	p := &plugin{validate: func(w *restadmission.Write) error {
		if allow || w.GetOperation() != admission.Delete || w.GetResource().Resource != "secrets" {
			return nil
		}
		return admission.NewForbidden(w, fmt.Errorf("it is needed"))
	}}
	c := start(t, withPlugin(p), withCollection)
	c.configMap("owner")
	c.must("POST", secretsPath, c.ownedSecret("a", "owner", ""))
	c.must("POST", secretsPath, c.ownedSecret("b", "owner", ""))
	c.must("DELETE", configMapsPath+"/owner?propagationPolicy=Foreground", "")
	expect(t, "left", namesOf(c.list(secretsPath)), []string{"a", "b"})
	allow = true
	c.do("PATCH", configMapsPath+"/owner", http.Header{"Content-Type": {"application/merge-patch+json"}}, `{"data":{"a":"b"}}`)
	expect(t, "left", namesOf(c.list(secretsPath)), []string(nil))
	expect(t, "owners left", namesOf(c.list(configMapsPath)), []string(nil))
}

func TestTheClientIsNotWarnedOfWhatTheCollectorDoes(t *testing.T) {
	c := start(t, withCollection)
	c.install("widgets")
	c.configMap("owner")
	c.configMap("other")
	dependent := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","finalizers":["no-domain"],"ownerReferences":[
{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q},{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":%q}]},"spec":{}}`,
		gjson.Get(c.must("GET", configMapsPath+"/owner", ""), "metadata.uid").Str, gjson.Get(c.must("GET", configMapsPath+"/other", ""), "metadata.uid").Str)
	a := c.do("POST", widgetsPath, jsonBody, dependent)
	expect(t, "warnings of the create", len(a.header.Values("Warning")), 1)
	a = c.do("DELETE", configMapsPath+"/owner", nil, "")
	expect(t, "warnings of the delete", a.header.Values("Warning"), []string(nil))
	expect(t, "owners", gjson.Get(c.must("GET", widgetsPath+"/a", ""), "metadata.ownerReferences.#.name").Raw, `["other"]`)
}
