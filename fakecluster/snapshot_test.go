package fakecluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/store"
)

// snapshot is what Cluster.Snapshot writes.
func snapshot(t testing.TB, c *fakecluster.Cluster) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Snapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// prepared is a cluster with a bit of everything, and what clients have received from it.
type prepared struct {
	lists map[string]string // by path, each as it was answered
	token string            // of a service account
	next  string            // the path of the second page of a list
	page  string            // what it says
	begin string            // a resourceVersion
}

var collections = []string{
	"/api/v1/namespaces", "/api/v1/services", "/api/v1/configmaps", "/api/v1/serviceaccounts", "/apis/networking.k8s.io/v1/ipaddresses",
	"/apis/stable.example.com/v1/crontabs", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
}

func body(t testing.TB, c *fakecluster.Cluster, path string) string {
	t.Helper()
	body, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).RESTClient().Get().RequestURI(path).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("%s: %v: %s", path, err, body)
	}
	return string(body)
}

func prepare(t testing.TB, c *fakecluster.Cluster) prepared {
	t.Helper()
	ctx := t.Context()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	p := prepared{lists: map[string]string{}}
	for i := range 5 {
		cron := cronTab(fmt.Sprint("cron-", i))
		if _, err := c.Dynamic().Resource(cronTabs).Namespace("default").Create(ctx, cron, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	hour := int64(3600)
	issued, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.token = issued.Status.Token
	for _, path := range collections {
		p.lists[path] = body(t, c, path)
	}
	first, err := c.Dynamic().Resource(cronTabs).Namespace("default").List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	p.begin = first.GetResourceVersion()
	p.next = "/apis/stable.example.com/v1/namespaces/default/crontabs?limit=2&continue=" + first.GetContinue()
	// The past: one object is changed and one deleted after the lists.
	if err := c.Dynamic().Resource(cronTabs).Namespace("default").Delete(ctx, "cron-4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.page = body(t, c, p.next)
	p.lists[collections[5]] = body(t, c, collections[5])
	for _, path := range collections {
		p.lists[path] = body(t, c, path)
	}
	return p
}

// survived compares a cluster with what clients have received from its predecessor.
func (p prepared) survived(t *testing.T, c *fakecluster.Cluster) {
	t.Helper()
	ctx := t.Context()
	for _, path := range collections {
		equal(t, path, body(t, c, path), p.lists[path])
	}
	equal(t, "the second page", body(t, c, p.next), p.page)

	w, err := c.Dynamic().Resource(cronTabs).Namespace("default").Watch(ctx, metav1.ListOptions{ResourceVersion: p.begin})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Deleted || e.Object.(*unstructured.Unstructured).GetName() != "cron-4" {
		t.Errorf("the watch from before says %v", e)
	}

	config := clientrest.AnonymousClientConfig(c.RESTConfig())
	config.BearerToken = p.token
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
		t.Errorf("the token from before: %v, %v", review, err)
	}

	// What has been given is not given again, and the next revision is the next.
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	before, err := client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"provided port is already allocated", "provided IP is already allocated"} {
		taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "taken"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
		if i == 0 {
			taken.Spec.Ports[0].NodePort = before.Spec.Ports[0].NodePort
		} else {
			taken.Spec.ClusterIP = before.Spec.ClusterIP
		}
		if _, err := client.CoreV1().Services("default").Create(ctx, taken, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a service with what another one has: %v, want …%s", err, want)
		}
	}
	if _, err := c.Dynamic().Resource(cronTabs).Namespace("default").Create(ctx, cronTab("cron-0"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating what is there: %v", err)
	}
	if _, err := c.Dynamic().Resource(cronTabs).Namespace("default").Create(ctx, cronTab("cron-9"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.Dynamic().Resource(cronTabs).Namespace("default").Create(ctx, cronTab(strings.Repeat("x", 300)), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the definition does not validate: %v", err)
	}
}

func TestAClusterContinuesFromASnapshot(t *testing.T) {
	for name, options := range map[string][]fakecluster.Option{
		"with the default controllers": nil,
		"with all controllers":         {fakecluster.WithControllers(fakecluster.AllControllers()...)},
	} {
		t.Run(name, func(t *testing.T) {
			first := defined(t, append(options, fakecluster.InProcess())...)
			p := prepare(t, first)
			text := snapshot(t, first)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if again := first.Snapshot(io.Discard); again == nil || again.Error() != "snapshot: the store is closed" {
				t.Errorf("a snapshot of a closed cluster: %v", again)
			}
			second := fakecluster.Start(t, append(options, fakecluster.WithSnapshot(bytes.NewReader(text)))...)
			equal(t, "a snapshot of a snapshot", string(snapshot(t, second)) == string(text), true)
			if second.RESTConfig().BearerToken == first.RESTConfig().BearerToken || bytes.Contains(text, []byte(first.RESTConfig().BearerToken)) {
				t.Error("the token of the cluster is in the snapshot")
			}
			fork := second.Fork(t)
			p.survived(t, second)
			p.survived(t, fork)
		})
	}
}

func TestAClusterContinuesInItsDataFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	options := []fakecluster.Option{fakecluster.WithDataFile(path, fakecluster.FsyncEverySecond), fakecluster.WithCRDPaths("testdata/crd")}
	first := fakecluster.Start(t, append(options, fakecluster.InProcess())...)
	p := prepare(t, first)
	users := first.ConfigFor("jane", "system:masters")
	message := refused(t, options...)
	equal(t, "message", message, "WithDataFile: data file "+path+": another fakecluster has it open")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// The definitions are the same as before, so that writing them once more changes nothing.
	second := fakecluster.Start(t, options...)
	p.survived(t, second)
	users.Host, users.Transport = second.URL(), nil
	if _, err := kubernetes.NewForConfigOrDie(users).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the user from before: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}

	// A file is a snapshot, too, and its token stays with it.
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	copied := filepath.Join(t.TempDir(), "copy")
	third := fakecluster.Start(t, fakecluster.WithSnapshot(file), fakecluster.WithDataFile(copied, ""))
	if third.RESTConfig().BearerToken == first.RESTConfig().BearerToken {
		t.Error("the copy has the token of the cluster")
	}
	for cluster, path := range map[*fakecluster.Cluster]string{first: path, third: copied} {
		if content, err := os.ReadFile(path); err != nil || !bytes.Contains(content, []byte(cluster.RESTConfig().BearerToken)) {
			t.Errorf("the file lacks the token: %v", err)
		}
	}
	get(t, inDefault(third), "cron-9") // which is younger than the file's beginning
}

// A compacted history stays compacted, and a continue token of it expires.
func TestCompactedRevisionsStayCompacted(t *testing.T) {
	first := defined(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(20, 0))
	p := prepare(t, first)
	for i := range 30 {
		if _, err := first.Dynamic().Resource(cronTabs).Namespace("default").Create(t.Context(), cronTab(fmt.Sprint("more-", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	second := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSnapshot(bytes.NewReader(snapshot(t, first))))
	for _, c := range []*fakecluster.Cluster{first, second} {
		w, err := c.Dynamic().Resource(cronTabs).Namespace("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: p.begin})
		if err != nil {
			t.Fatal(err)
		}
		if e := <-w.ResultChan(); e.Type != watch.Error || !apierrors.IsGone(apierrors.FromObject(e.Object)) && !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("the watch says %v", e)
		}
		w.Stop()
		_, token, _ := strings.Cut(p.next, "continue=")
		_, err = inDefault(c).List(t.Context(), metav1.ListOptions{Limit: 2, Continue: token})
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("the second page: %v", err)
		}
	}
}

// A cluster completes the interrupted work of its predecessor: here it had no controller to empty
// a namespace.
func TestAClusterCompletesInterruptedWork(t *testing.T) {
	ctx := context.Background()
	first := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithControllers())
	client := kubernetes.NewForConfigOrDie(first.RESTConfig())
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, "doomed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSnapshot(bytes.NewReader(snapshot(t, first))))
	_, err := kubernetes.NewForConfigOrDie(second.RESTConfig()).CoreV1().Namespaces().Get(ctx, "doomed", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

// With the seed that a snapshot was made with, the next uids are others, and the same in each cluster
// that goes on from it.
func TestTheSeedContinues(t *testing.T) {
	uid := func(c *fakecluster.Cluster, name string) string {
		t.Helper()
		created, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(created.UID)
	}
	first := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSeed(7))
	text := snapshot(t, first)
	seen := map[string]bool{}
	var continued []string
	for range 2 {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithSeed(7), fakecluster.WithSnapshot(bytes.NewReader(text)))
		continued = append(continued, uid(c, "a"))
		listed, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range listed.Items {
			seen[string(role.UID)] = true
		}
	}
	equal(t, "uids", continued[0], continued[1])
	if seen[continued[0]] {
		t.Error("a uid has been given twice")
	}
}

func TestSnapshotsAndDataFilesThatAreRefused(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	text := snapshot(t, c)
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("my thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	snap, err := store.ReadSnapshot(bytes.NewReader(text))
	must(t, err)
	with := func(meta string) io.Reader {
		var b bytes.Buffer
		must(t, snap.Write(&b, meta))
		return &b
	}
	newest, next := release.Newest().String(), release.Newest().AddMinor(1).String()
	equal(t, "meta", snap.Meta(), `{"kubernetes":"`+newest+`"}`)
	for want, options := range map[string]fakecluster.Option{
		"WithSnapshot: the reader is nil":                                           fakecluster.WithSnapshot(nil),
		"WithSnapshot: this is not data of fakecluster (at byte 0)":                 fakecluster.WithSnapshot(strings.NewReader("my thesis")),
		"WithSnapshot: the data is damaged, or not all of it is there (at byte 27)": fakecluster.WithSnapshot(bytes.NewReader(bytes.Replace(text, []byte(newest), []byte(next), 1))),
		"WithSnapshot: a fakecluster of Kubernetes " + next + " wrote it, and this one is of " + newest + ": use a fakecluster of " + next + " or newer": fakecluster.WithSnapshot(with(`{"kubernetes":"` + next + `"}`)),
		"WithSnapshot: the data is not that of a cluster; write it with Snapshot, or fakecluster snapshot":                                               fakecluster.WithSnapshot(with("")),
		"the snapshot or data file is damaged: the key of service account tokens cannot be read; write it again":                                         fakecluster.WithSnapshot(with(`{"kubernetes":"` + newest + `","accountKey":"AAAA"}`)),
		"WithDataFile: data file " + path + ": this is not data of fakecluster (at byte 0)":                                                              fakecluster.WithDataFile(path, ""),
		`WithDataFile: unknown value "never" for syncing; write always or second`:                                                                        fakecluster.WithDataFile(path, "never"),
	} {
		equal(t, "error", refused(t, options), want)
	}
}

// Options install anew what has to do with the process, and leave the rest as clients have made it.
func TestOptionsOfAContinuedCluster(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Cluster,
  names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {%s: {type: string}}}}}]}}`
	const hook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}, webhooks: [{name: a.example.com,
  clientConfig: {url: "https://%s.example.com"}, sideEffects: None, admissionReviewVersions: [v1], rules: [{apiGroups: [none], apiVersions: [v1], operations: [CREATE], resources: [none]}]}]}`
	const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {said: %s}}`
	options := func(said string) []fakecluster.Option {
		return []fakecluster.Option{
			fakecluster.InProcess(), fakecluster.WithCRDPaths(file("crd.yaml", fmt.Sprintf(definition, said))),
			fakecluster.WithManifests(file("hook.yaml", fmt.Sprintf(hook, said)), file("map.yaml", fmt.Sprintf(configMap, said))),
		}
	}
	first := fakecluster.Start(t, options("before")...)
	second := fakecluster.Start(t, append(options("after"), fakecluster.WithSnapshot(bytes.NewReader(snapshot(t, first))))...)
	for path, want := range map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com": `"properties":{"after":`,
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hook": `"https://after.example.com"`,
		"/api/v1/namespaces/default/configmaps/settings":                             `"said":"before"`,
	} {
		if got := body(t, second, path); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want …%s…", path, got, want)
		}
	}
}
