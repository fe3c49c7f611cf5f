package record

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A session with a cluster in process is recorded as one over sockets, in a bubble and with client certificates too: each
// step says whose it is.
func TestTheUserOfARequestIsRecorded(t *testing.T) {
	session := func(t *testing.T, options ...fakecluster.Option) string {
		var recorder Recorder
		c := fakecluster.Start(t, append(options, fakecluster.WithSeed(1), fakecluster.WithMiddleware(recorder.Wrap))...)
		if err := recorder.Begin(c.RESTConfig()); err != nil {
			t.Fatal(err)
		}
		admin := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
		if _, err := admin.ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, config := range []*rest.Config{c.RESTConfig(), c.ConfigFor("jane", "writers"), c.ServiceAccountConfig("default", "robot")} {
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").
				Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
		}
		text, steps := recorder.Scenario(InitialState{})
		if steps != 4 {
			t.Errorf("%d steps, want 4", steps)
		}
		return string(text)
	}
	sockets, inProcess := session(t), session(t, fakecluster.InProcess())
	if sockets != inProcess {
		t.Errorf("over sockets:\n%s\nin process:\n%s", sockets, inProcess)
	}
	synctest.Test(t, func(t *testing.T) {
		if bubble := session(t, fakecluster.InProcess()); bubble != inProcess {
			t.Errorf("in process:\n%s\nin a bubble:\n%s", inProcess, bubble)
		}
	})
	if tls := session(t, fakecluster.WithTLS()); tls != sockets {
		t.Errorf("over sockets:\n%s\nwith certificates:\n%s", sockets, tls)
	}
	for _, want := range []string{"as: {groups: [writers], user: jane}", "as: {serviceAccount: default/robot}"} {
		if !strings.Contains(inProcess, want) {
			t.Errorf("no %s in:\n%s", want, inProcess)
		}
	}
}
