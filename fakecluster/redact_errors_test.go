package fakecluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// The error of a cluster that cannot load a Secret has its name and not its data.
func TestErrorsOfLoadingHideSecrets(t *testing.T) {
	for manifest, want := range map[string]string{
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: hunter2}}": `Secret "a": Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4`,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: *hunter2}}": "document 1: yaml: " +
			"(hidden: it may contain a secret)",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/dockercfg, stringData: {.dockercfg: hunter2}}": `Secret "a": Secret "a" is invalid: ` +
			`data[.dockercfg]: Invalid value: (hidden: it may contain a secret)`,
	} {
		path := filepath.Join(t.TempDir(), "manifest.yaml")
		must(t, os.WriteFile(path, []byte(manifest), 0o600))
		c, err := fakecluster.New(fakecluster.InProcess(), fakecluster.WithManifests(path))
		if err == nil {
			must(t, c.Close())
			t.Fatal("it is loaded")
		}
		if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%v\nwant: … %s", err, want)
		}
		if status := (*apierrors.StatusError)(nil); strings.Contains(want, "Secret in") && !errors.As(err, &status) {
			t.Error("it has no Status")
		}
	}
}

// The log of a test shows that a controller could not delete a Secret, and hides the reason if a webhook or a function has
// said it.
func TestFailuresOfControllersHideSecrets(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.GarbageCollector),
		fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			if r.Operation == "DELETE" && r.Resource.Resource == "secrets" {
				return errors.New("there is still data in it: hunter2")
			}
			return nil
		}))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
	owner, err := client.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}},
		StringData: map[string]string{"a": "hunter2"},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, client.ConfigMaps("default").Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	log := tb.end()
	if strings.Contains(log, "hunter") {
		t.Errorf("the log has the value:\n%s", log)
	}
	for _, want := range []string{`secrets "owned" is forbidden: (hidden: it may contain a secret); the next related write tries again`, `403 Forbidden: secrets "owned" is forbidden: (hidden`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// The changes in the history of an object do not show the values of a Secret, nor those of one in another object;
// the object itself is there.
func TestTheHistoryHidesSecrets(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	secrets := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Secrets("default")
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "one"}}
	_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	must(t, err)
	secret.StringData, secret.Annotations, secret.Labels = map[string]string{"a": "two", "tls.crt": "x"}, map[string]string{"p": "x"}, map[string]string{"app": "web"}
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, err)
	secret.Namespace = "default"
	history, err := c.History(secret)
	must(t, err)
	var changes []string
	for _, change := range history[1].Changes {
		changes = append(changes, change.String())
	}
	equal(t, "the changes", strings.Join(changes, "\n"), `data.a: "(what was there)" → "(a secret)"
data["tls.crt"]: added "(a secret)"
metadata.annotations: added {"p":"(a secret)"}
metadata.labels: added {"app":"web"}`)
	data, _ := history[1].Object.Object["data"].(map[string]any)
	equal(t, "the object", data["a"], any("dHdv"))
}
