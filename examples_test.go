package fakecluster_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/workloads"
)

// cronTabs is the resource of the examples, defined in config/crd.
var cronTabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

func cronTab(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"cronSpec": "* * * * */5", "image": "my-awesome-cron-image"},
	}}
}

func TestMain(m *testing.M) {
	os.Exit(leaktest.Check(inOperatorsFolder(m.Run)))
}

// repository is the folder that the tests were started in.
var repository string

// inOperatorsFolder runs the examples in a folder like that of an operator's
// repository, with its definitions in config/crd.
func inOperatorsFolder(run func() int) int {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	var err error
	repository, err = os.Getwd()
	check(err)
	crd, err := os.ReadFile("scenarios/crontab/crontab-crd.yaml")
	check(err)
	folder, err := os.MkdirTemp("", "fakecluster-examples-")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	check(os.Chdir(folder))
	check(os.MkdirAll("config/crd", 0o755))
	check(os.WriteFile("config/crd/crontabs.yaml", crd, 0o644))
	versioned, err := os.ReadFile(filepath.Join(repository, "scenarios/versions/my-versioned-crontab-with-conversion.yaml"))
	check(err)
	check(os.WriteFile("config/operator.yaml", []byte(operatorManifests), 0o644))
	check(os.MkdirAll("config/versions", 0o755))
	check(os.WriteFile("config/versions/crontabs.yaml", versioned, 0o644))
	return run()
}

func TestMyOperator(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithCRDPaths("config/crd"))
	client := dynamic.NewForConfigOrDie(c.RESTConfig()) // or controller-runtime, kubectl, helm …
	_, err := client.Resource(cronTabs).Namespace("default").Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func ExampleWithConversion() {
	// hostPort of v1beta1 is host and port in v1.
	convert := func(_ context.Context, obj *unstructured.Unstructured, apiVersion string) error {
		if apiVersion == "example.com/v1" {
			hostPort, _ := obj.Object["hostPort"].(string)
			obj.Object["host"], obj.Object["port"], _ = strings.Cut(hostPort, ":")
		} else {
			obj.Object["hostPort"] = fmt.Sprint(obj.Object["host"], ":", obj.Object["port"])
		}
		return nil
	}
	c, err := fakecluster.New(fakecluster.WithCRDPaths("config/versions"),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(convert)))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	in := func(version string) dynamic.ResourceInterface {
		return c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"}).Namespace("default")
	}
	ctx := context.Background()
	_, err = in("v1beta1").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1234",
	}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := in("v1").Get(ctx, "a", metav1.GetOptions{})
	fmt.Println(a.GetAPIVersion(), a.Object["host"], a.Object["port"], err)
	// Output: example.com/v1 localhost 1234 <nil>
}

func Example_start() {
	c, err := fakecluster.New(fakecluster.WithCRDPaths("config/crd"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	crontabs := dynamic.NewForConfigOrDie(c.RESTConfig()).Resource(cronTabs).Namespace("default")

	ctx := context.Background()
	created, err := crontabs.Create(ctx, cronTab("a"), metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.GetName(), "generation", created.GetGeneration())
	_, err = crontabs.Create(ctx, cronTab("a"), metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// created a generation 1
	// crontabs.stable.example.com "a" already exists
}

// The connection breaks after the first create has been made.
func Example_faults() {
	c, err := fakecluster.New(fakecluster.WithCRDPaths("config/crd"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	crontabs := dynamic.NewForConfigOrDie(c.RESTConfig()).Resource(cronTabs).Namespace("default")

	ctx := context.Background()
	c.Inject(faults.Fault{Verb: "create", Resource: "crontabs.stable.example.com", Times: 1, Effect: faults.CutAfterCommit()})
	_, err = crontabs.Create(ctx, cronTab("a"), metav1.CreateOptions{})
	fmt.Println("the client gets an error:", err != nil)
	_, err = crontabs.Create(ctx, cronTab("a"), metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// the client gets an error: true
	// crontabs.stable.example.com "a" already exists
}

// operate is a controller: it notes on each CronTab that it is scheduled.
func operate(ctx context.Context, config *rest.Config) error {
	crontabs := dynamic.NewForConfigOrDie(config).Resource(cronTabs).Namespace("default")
	for ctx.Err() == nil {
		list, err := crontabs.List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, one := range list.Items {
				if one.GetAnnotations()["scheduled"] == "" {
					patch := []byte(`{"metadata":{"annotations":{"scheduled":"true"}}}`)
					_, _ = crontabs.Patch(ctx, one.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}) // or the next time
				}
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

func TestTheOperatorWhateverGoesWrong(t *testing.T) {
	explore.Run(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("operator", c.RESTConfig(), operate) // until its context ends, and again after a stop
		crontabs := dynamic.NewForConfigOrDie(c.RESTConfig()).Resource(cronTabs).Namespace("default")
		if _, err := crontabs.Create(t.Context(), cronTab("a"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Wait(time.Minute) // of virtual time
		a, err := crontabs.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || a.GetAnnotations()["scheduled"] != "true" {
			t.Errorf("the CronTab is not scheduled: %v, %v", a, err)
		}
	}, explore.With(fakecluster.WithCRDPaths("config/crd")))
}

// page returns the text of a page of the documentation, such as docs/options.md.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages returns the paths of the README and of the pages in docs.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"README.md"}
	for _, path := range docs {
		paths = append(paths, filepath.Join("docs", filepath.Base(path)))
	}
	return paths
}

// blocks are the fenced parts of a Markdown text in one language.
func blocks(text, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// section returns the part of a Markdown text below a heading of the second level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no section %q", heading)
	}
	after, _, _ = strings.Cut(after, "\n## ")
	return after
}

// firstColumn is the code in the first column of the tables in a text.
func firstColumn(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return found
}

func TestTheGoCodeOfTheDocumentationIsCompiled(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "examples", "*", "*.go")) // compiled by the part examples of .ci/run
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, file := range append(files, filepath.Join(repository, "examples_test.go")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	for _, path := range pages(t) {
		code := blocks(page(t, path), "go")
		if len(code) == 0 && path == "README.md" {
			t.Error("the README shows no code")
		}
		for _, c := range code {
			if !bytes.Contains(source, []byte(c)) {
				t.Errorf("this code of %s is neither in examples_test.go nor in examples:\n%s", path, c)
			}
		}
	}
}

// The README is a front page. What does not fit belongs into docs.
func TestTheREADMEIsShort(t *testing.T) {
	if size := len(page(t, "README.md")); size > 12<<10 {
		t.Errorf("README.md has %d bytes, want at most %d", size, 12<<10)
	}
}

// link matches the target of a Markdown link or image.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	for _, from := range append(pages(t), "CONTRIBUTING.md", filepath.Join("conformance", "README.md")) {
		for _, m := range link.FindAllStringSubmatch(page(t, from), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(from), target)
			if target == "" {
				to = from
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", from, m[1])
				continue
			}
			if heading != "" && !slices.Contains(anchors(page(t, to)), heading) {
				t.Errorf("%s links to %s, but %s has no such heading", from, m[1], to)
			}
		}
	}
}

// anchors returns the names by which links refer to the headings of a Markdown text.
func anchors(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(words, " ", "-"))
	}
	return found
}

// exported are the names of a package's exported functions that return the given
// type.
func exported(t *testing.T, folder, result string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results.NumFields() != 1 {
				continue
			}
			if r, ok := fn.Type.Results.List[0].Type.(*ast.Ident); ok && r.Name == result {
				found = append(found, fn.Name.Name)
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestDocsListEveryOption(t *testing.T) {
	var listed []string
	for _, o := range firstColumn(page(t, "docs/options.md")) {
		name, _, _ := strings.Cut(o, "(")
		listed = append(listed, name)
	}
	if diff := cmp.Diff(exported(t, "fakecluster", "Option"), listed); diff != "" {
		t.Errorf("options (-code +docs):\n%s", diff)
	}
}

func TestDocsListEveryEffectOfAFault(t *testing.T) {
	var listed []string
	for _, e := range firstColumn(section(t, page(t, "docs/faults.md"), "Inject a fault")) {
		name, _, _ := strings.Cut(e, "(")
		listed = append(listed, name)
	}
	if diff := cmp.Diff(exported(t, "faults", "Effect"), listed); diff != "" {
		t.Errorf("effects (-code +docs):\n%s", diff)
	}
}

// An error with a Status cannot be written in a scenario, so Fail is not in its language.
func TestScenariosHaveEveryEffectOfAFault(t *testing.T) {
	language := page(t, "docs/scenario-language.md")
	for _, name := range exported(t, "faults", "Effect") {
		word := strings.ToLower(name[:1]) + name[1:]
		if name != "Fail" && !regexp.MustCompile(`\b`+word+`\b`).MatchString(section(t, language, "Steps")) {
			t.Errorf("the step fault does not name %s", word)
		}
	}
}

// TestScenariosHaveEveryOptionOfACluster compares the text of the field cluster, which is written by hand, with the fields of the schema.
func TestScenariosHaveEveryOptionOfACluster(t *testing.T) {
	text := regexp.MustCompile(`(?m)^  - cluster: .*$`).FindString(page(t, "docs/scenario-language.md"))
	for _, o := range description.Options() {
		if o.Scenario != "" && !strings.Contains(text, " "+o.Scenario+": ") {
			t.Errorf("the field cluster in scenarios/doc.go does not name %s", o.Scenario)
		}
	}
}

func TestDocsListEveryOracle(t *testing.T) {
	text := page(t, filepath.Join("docs", "explore-operator.md"))
	_, text, _ = strings.Cut(text, "## What is checked")
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^### (.+)$").FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	for _, o := range explore.Oracles() {
		want = append(want, string(o.Oracle))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the oracles of docs/explore-operator.md (-code +page):\n%s", diff)
	}
}

// The last column says which controllers act by default.
func TestDocsListEveryController(t *testing.T) {
	byDefault := fakecluster.DefaultControllers()
	want, listed := map[string]bool{}, map[string]bool{}
	for _, c := range fakecluster.AllControllers() {
		want[string(c)] = slices.Contains(byDefault, c)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\| (acts )?\\|$").FindAllStringSubmatch(page(t, "docs/controllers.md"), -1) {
		listed[row[1]] = row[2] != ""
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("controllers (-code +docs):\n%s", diff)
	}
}

func TestEveryOptionHasAnExample(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "fakecluster", "example_*test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []byte
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, content...)
	}
	for _, option := range exported(t, "fakecluster", "Option") {
		if !strings.Contains(string(examples), "\nfunc Example"+option+"() {\n") {
			t.Errorf("go doc shows no example of %s", option)
		}
	}
}

func TestDocsListEveryScenarioStep(t *testing.T) {
	var steps []string
	for _, s := range syntax.StepDocs() {
		steps = append(steps, s.Name+": "+s.Argument)
	}
	slices.Sort(steps)
	if diff := cmp.Diff(steps, firstColumn(section(t, page(t, "docs/scenarios.md"), "Steps"))); diff != "" {
		t.Errorf("steps (-code +docs):\n%s", diff)
	}
}

// The second column ends with the subresources of the resource, as in "with scale and status".
func TestDocsListEveryBuiltInResource(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	_, lists, err := c.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	for _, l := range lists {
		subresources := map[string][]string{}
		for _, r := range l.APIResources {
			name, subresource, ok := strings.Cut(r.Name, "/")
			names := subresources[name]
			if ok {
				names = append(names, subresource)
			}
			subresources[name] = names
		}
		for name, names := range subresources {
			served[l.GroupVersion+" "+name] = ""
			if len(names) > 0 {
				slices.Sort(names)
				first, last := names[:len(names)-1], names[len(names)-1]
				served[l.GroupVersion+" "+name] = "with " + strings.TrimPrefix(strings.Join(first, ", ")+" and "+last, " and ")
			}
		}
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*)\\|$").FindAllStringSubmatch(page(t, "docs/built-in-kinds.md"), -1) {
		notes := strings.Split(strings.TrimSpace(row[2]), "; ")
		listed[row[1]] = ""
		if last := notes[len(notes)-1]; strings.HasPrefix(last, "with ") {
			listed[row[1]] = last
		}
	}
	if diff := cmp.Diff(served, listed); diff != "" {
		t.Errorf("built-in resources and their subresources (-discovery +docs):\n%s", diff)
	}
}

// TestTheTestsThatCIRacesExist finds a test for each part of the patterns with which scripts pick tests for the race detector: a test that
// gets another name must not fall out of them without a word.
func TestTheTestsThatCIRacesExist(t *testing.T) {
	for script, packages := range map[string]string{"run": "./fakecluster ./workloads", "race": "./explore"} {
		text, err := os.ReadFile(filepath.Join(repository, ".ci", script))
		if err != nil {
			t.Fatal(err)
		}
		picked := regexp.MustCompile(`go test -race .* ` + packages + ` -run '([^']+)'`).FindSubmatch(text)
		if picked == nil {
			t.Fatalf(".ci/%s picks no tests of %s for the race detector", script, packages)
		}
		var tests []byte
		for folder := range strings.FieldsSeq(packages) {
			files, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tests = append(tests, text...)
			}
		}
		for part := range strings.SplitSeq(string(picked[1]), "|") {
			if !regexp.MustCompile(`(?m)^func Test\w*` + part).Match(tests) {
				t.Errorf("no test of %s has %s in its name", packages, part)
			}
		}
	}
}

func TestCIRunsTheCommandsOfTheREADME(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(repository, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"go run ./cmd/fakecluster run ./scenarios", "go test -short -vet=off ./..."}
	for _, command := range commands {
		if !slices.Contains(blocks(page(t, "README.md"), "sh"), command+"\n") {
			t.Errorf("the README does not show %q as a block of its own", command)
		}
		if !regexp.MustCompile("(?m)" + regexp.QuoteMeta(" "+command) + "$").MatchString(string(script)) {
			t.Errorf(".ci/run has no line that ends in %q", command)
		}
	}
}

// deployment is a Deployment in the namespace default.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}},
			},
		},
	}
}

func TestADeploymentRollsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(deployment("web", 3)))
		workloads.Run(t, c, workloads.Nodes(3)) // ends with the test

		time.Sleep(time.Minute) // takes no time in a bubble
		web, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || web.Status.AvailableReplicas != 3 {
			t.Errorf("%d replicas are available; %v", web.Status.AvailableReplicas, err)
		}
	})
}

// operatorManifests are what users of an operator apply.
const operatorManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: acme}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: acme}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator, namespace: acme}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator, namespace: acme}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: acme}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: acme}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      serviceAccountName: operator
      containers:
      - name: operator
        image: ghcr.io/acme/operator:v1.2.3
        env: [{name: COLOR, value: red}]
        args: [--color=$(COLOR)]
`

// runOperator is an operator that says how it was started.
func runOperator(ctx context.Context, cfg *rest.Config, args []string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	started := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "started"}, Data: map[string]string{"args": strings.Join(args, " ")}}
	if _, err := client.CoreV1().ConfigMaps("acme").Create(ctx, started, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	<-ctx.Done()
	return nil
}

func TestTheOperatorRunsFromItsManifests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("config/operator.yaml"))
		workloads.Run(t, c, workloads.Nodes(1),
			workloads.Image("ghcr.io/acme/operator", func(ctx context.Context, p *workloads.Container) error {
				cfg, err := p.RESTConfig() // acts as the Pod's ServiceAccount
				if err != nil {
					return err
				}
				return runOperator(ctx, cfg, p.Args) // ctx is canceled by SIGTERM; an error is exit code 1
			}))

		started := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "started"}}
		c.WaitFor(t, started, fakecluster.CEL(`object.data.args == "--color=red"`))
	})
}
