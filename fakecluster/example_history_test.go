package fakecluster_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// configMapsAs is a client for ConfigMaps of a program with a name.
func configMapsAs(c *fakecluster.Cluster, program string) corev1client.ConfigMapInterface {
	cfg := c.RESTConfig()
	cfg.UserAgent = program
	return kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
}

// Two programs work on one object, and the history of requests shows which one was too late.
func ExampleCluster_Requests() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	operator, human := configMapsAs(c, "operator"), configMapsAs(c, "kubectl")
	settings, err := operator.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := human.Patch(ctx, "settings", types.MergePatchType, []byte(`{"data":{"color":"blue"}}`), metav1.PatchOptions{}); err != nil {
		log.Fatal(err)
	}
	settings.Data = map[string]string{"color": "green"}
	_, _ = operator.Update(ctx, settings, metav1.UpdateOptions{}) // its error gets lost, as in many an operator

	for _, r := range c.Requests() {
		fmt.Println(r.Code, r.Client(), r.Verb, r.Object())
	}
	// Output:
	// 201 operator create configmaps in default
	// 200 kubectl patch configmaps default/settings
	// 409 operator update configmaps default/settings
}

// Who has changed what of an object, and when?
func ExampleCluster_History() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "green", "size": "xl"}}
	if _, err := configMapsAs(c, "operator").Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	change := []byte(`{"data":{"color":"blue","size":null}}`)
	if _, err := configMapsAs(c, "kubectl").Patch(ctx, "settings", types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
		log.Fatal(err)
	}
	history, err := c.History(settings) // or fakecluster.Named("v1", "ConfigMap", "default", "settings")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range history {
		fmt.Println(r.Client(), r.Verb)
		for _, change := range r.Changes {
			fmt.Println(" ", change)
		}
	}
	// Output:
	// operator create
	// kubectl patch
	//   data.color: "green" → "blue"
	//   data.size: removed "xl"
}

// What did the object look like when something else happened?
func ExampleCluster_ObjectAt() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "green"}}
	operator := configMapsAs(c, "operator")
	if _, err := operator.Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	settings.Data["color"] = "blue"
	if _, err := operator.Update(ctx, settings, metav1.UpdateOptions{}); err != nil {
		log.Fatal(err)
	}
	for _, r := range c.Requests() {
		then, err := c.ObjectAt(settings, r.Revision)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("after the", r.Verb, then.Object["data"])
	}
	// Output:
	// after the create map[color:green]
	// after the update map[color:blue]
}

// A test without the object can name it.
func ExampleNamed() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	history, err := c.History(fakecluster.Named("v1", "Namespace", "", "default"))
	if err != nil {
		log.Fatal(err)
	}
	_, what, _ := strings.Cut(history.String(), ": ")
	fmt.Print(what)
	// Output:
	// added
}

// A controller works until it has nothing to do, and the test goes on at that moment: no Eventually, and
// in a bubble no time.
func ExampleCluster_Settle() {
	_ = func(t *testing.T) { // func TestMyOperator(t *testing.T)
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
			// … start the operator with c.RESTConfig(), and create an object …
			if err := c.Settle(t.Context()); err != nil {
				t.Fatal(err) // an object that is written without end, and who writes it
			}
			// … now the operator has nothing left to do …
		})
	}
}

// Which requests has a program sent, and how often?
func ExampleCluster_Stats() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	operator := configMapsAs(c, "operator")
	for range 3 {
		if _, err := operator.List(ctx, metav1.ListOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := operator.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Print(c.Stats())
	fmt.Println("requests:", c.Stats().Total(nil).Requests)
	// Output:
	// operator create configmaps: 1, revisions 1
	// operator list configmaps: 3
	// requests: 4
}

// An operator must not write an object again and again, and at rest it must do nothing.
func ExampleCluster_CheckBudget() {
	_ = func(t *testing.T) { // func TestMyOperator(t *testing.T)
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
			// … start the operator with c.RESTConfig(), and create an object …
			if err := c.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.CheckBudget(t, fakecluster.Budget{Client: "website-operator", UpdatesPerObject: 3, NoRepeats: true, NoBareLists: true})

			c.ResetStats()
			time.Sleep(time.Hour) // which takes no time
			c.CheckBudget(t, fakecluster.Budget{Client: "website-operator", AtRest: true})
		})
	}
}

// What does one pass of a controller cost?
func ExampleCluster_ReportMetrics() {
	_ = func(b *testing.B) { // func BenchmarkReconcile(b *testing.B)
		c := fakecluster.Start(b, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
		c.ResetStats() // what has prepared the cluster does not count
		for b.Loop() {
			// … one pass …
		}
		c.ReportMetrics(b) // requests/op, update-requests/op, conflicts/op, sent-B/op …
	}
}

// A program shows what happens in its cluster in a browser, as fakecluster serve --ui does. For a test,
// FAKECLUSTER_REPORT=DIR go test writes the same page for each test that fails.
func ExampleCluster_ReportPage() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	page := httptest.NewServer(c.ReportPage("my cluster"))
	defer page.Close()
	answer, err := http.Get(page.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status, answer.Header.Get("Content-Type"))
	// Output:
	// 200 OK text/html; charset=utf-8
}
