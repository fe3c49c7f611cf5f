package fakecluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/report"
)

var screenshot = flag.String("screenshot", "", "write a picture of the report of TestTheReportWorksInABrowser to this file")

// reported makes a cluster in which something has happened, and returns the path of its report.
func reported(t *testing.T) (path string) {
	folder := filepath.Join(t.TempDir(), "a", "b") // is made
	t.Setenv("FAKECLUSTER_REPORT", folder)
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()),
		fakecluster.WithService("default", "hook", 443, http.HandlerFunc(allowing)))
	_, _, hooks := ofOperator(c.ServiceURL("default", "hook", 443), c.CABundle())
	admin := kubernetes.NewForConfigOrDie(c.RESTConfig())
	_, err := admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), hooks, metav1.CreateOptions{})
	must(t, err)
	operator := as(c, c.RESTConfig(), "cron-operator")
	w, err := operator.Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	defer w.Stop()
	for i := range 4 {
		create(t, operator, cronTab(fmt.Sprint("cron-", i)))
	}
	for i := range 30 {
		patchImage(t, operator, fmt.Sprint("cron-", i%3), fmt.Sprintf("</script><b>image-%d", i))
	}
	_, _ = as(c, c.ConfigFor("jane"), "kubectl").List(t.Context(), metav1.ListOptions{})
	_, err = admin.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.CoreV1().Secrets("default").Patch(t.Context(), "s", types.MergePatchType, []byte(`{"data":{"a":"aHVudGVyMg=="}}`), metav1.PatchOptions{})
	must(t, err)
	record(t, admin, "cron-1", "Normal", "Scheduled", "the next run is at noon")
	record(t, admin, "gone", "Warning", "Failed", "<b>no such image</b>")
	log := tb.end()
	_, path, ok := strings.Cut(log, "fakecluster: the report is in ")
	if !ok {
		t.Fatal(log)
	}
	equal(t, "the folder", filepath.Dir(path), folder)
	return path
}

// record makes an Event about a CronTab, in turns in the two groups that have Events.
func record(t *testing.T, client kubernetes.Interface, about, kind, reason, message string) {
	t.Helper()
	reference := corev1.ObjectReference{APIVersion: "stable.example.com/v1", Kind: "CronTab", Namespace: "default", Name: about}
	var err error
	if kind == "Normal" {
		_, err = client.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: about + ".1"}, InvolvedObject: reference, Type: kind, Reason: reason, Message: message, Count: 3,
			Source: corev1.EventSource{Component: "cron-operator"},
		}, metav1.CreateOptions{})
	} else {
		_, err = client.EventsV1().Events("default").Create(t.Context(), &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: about + ".2"}, Regarding: reference, Type: kind, Reason: reason, Note: message, Action: "Run",
			EventTime: metav1.NowMicro(), ReportingController: "cron-operator", ReportingInstance: "one",
		}, metav1.CreateOptions{})
	}
	must(t, err)
}

func TestAFailedTestLeavesAReport(t *testing.T) {
	path := reported(t)
	equal(t, "its name", filepath.Base(path), "fakecluster."+t.Name()+".html")
	text, err := os.ReadFile(path)
	must(t, err)
	page := string(text)
	if strings.Contains(page, "aHVudGVyMg") || !strings.Contains(page, "(a secret)") {
		t.Error("the value of a Secret is in the report")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts: a value has got out of the data", n)
	}
	for _, foreign := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), "https://hook.default.svc:443", ""), foreign) {
			t.Errorf("the page refers to %s", foreign)
		}
	}
}

func TestATestPassesIfItsReportCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("FAKECLUSTER_REPORT", filepath.Join(file, "folder"))
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	create(t, inDefault(c), cronTab("a"))
	log := tb.end()
	if !strings.Contains(log, "fakecluster: the report cannot be written: ") || !strings.Contains(log, "not a directory") {
		t.Error(log)
	}
}

// browser is the path of a headless Chromium.
func browser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: install the package chromium to test the page in a browser")
	return ""
}

// browse opens a page, plays a script in it, and returns what the script has put into the attribute
// data-said of the body.
func browse(t *testing.T, url string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Not a folder of the test, which would fail: processes of the browser that outlive its first one write there while it is removed.
	profile, err := os.MkdirTemp("", "fakecluster-browser-")
	must(t, err)
	defer os.RemoveAll(profile)
	cmd := exec.CommandContext(ctx, browser(t), append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir=" + profile, "--allow-file-access-from-files", "--virtual-time-budget=5000", "--window-size=1300,800",
	}, append(args, url)...)...)
	out, err := cmd.Output()
	must(t, err)
	return string(out)
}

// withScript puts a script before a tag of a page, whose policy then allows that script, too.
func withScript(page, script, before string) string {
	sum := sha256.Sum256([]byte(script))
	page = strings.Replace(page, "script-src ", "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"' ", 1)
	return strings.Replace(page, before, "<script>"+script+"</script>"+before, 1)
}

func TestTheReportWorksInABrowser(t *testing.T) {
	browser(t)
	path := reported(t)
	text, err := os.ReadFile(path)
	must(t, err)
	// What a reader does: search, choose, look at a request and at an object.
	script := `
		const rows = () => document.querySelectorAll("#requests tbody tr:not(.detail)").length, said = [];
		const set = (id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event("input")); };
		said.push("opens on " + document.querySelector("section.here").id, document.getElementById("failure").textContent);
		said.push("count " + document.querySelector("#requests .count").textContent);
		said.push("ready " + document.body.dataset.ready, "styled " + getComputedStyle(document.querySelector(".lane > summary")).display, "colored " + getComputedStyle(document.querySelector("#requests tbody td:nth-child(4)")).color, "all " + rows(), "marks " + (document.querySelectorAll("#timeline circle").length > 5));
		set("kind", "refused"); said.push("refused " + rows(), document.querySelector("#requests .count").textContent, "objects " + document.querySelector("#objects .count").textContent);
		document.querySelector("#requests tbody tr").click();
		said.push("detail " + document.querySelector("tr.detail").textContent.includes("cannot list resource"));
		set("kind", ""); set("client", "cron-operator"); said.push("of the operator " + rows());
		set("search", "create cron"); said.push("found " + rows());
		set("search", "image-29"); set("client", ""); said.push("objects " + document.querySelectorAll(".lane").length);
		location.hash = "objects";
		const lane = document.querySelector(".lane"); lane.open = true;
		const later = next => addEventListener("hashchange", () => setTimeout(next, 100), { once: true });
		later(() => {
			said.push("revisions " + lane.querySelectorAll(".revision").length, "visible " + (lane.offsetHeight > 0), lane.querySelector("li").textContent);
			set("search", "");
			const lanes = [...document.querySelectorAll(".lane")], of = name => lanes.find(l => l.dataset.name.endsWith("default/" + name));
			for (const name of ["cron-1", "gone"]) of(name).open = true;
			setTimeout(() => {
				said.push("lanes of Events " + lanes.filter(l => l.dataset.name.startsWith("events")).length);
				for (const name of ["cron-1", "gone"]) said.push(of(name).querySelectorAll("circle.event").length + " " + of(name).querySelector(".event-text").textContent.replace(/at .*? m?s/, "at TIME"));
				later(() => {
					const number = location.hash.slice(1), row = document.getElementById(number);
					said.push("to the request " + (row.nextSibling?.className === "detail" && row.textContent.includes("events in default") && document.getElementById("requests").offsetHeight > 0));
					document.body.dataset.said = said.join("; ");
				});
				of("cron-1").querySelector(".event-text a").click();
			}, 100);
		});
	`
	tried := strings.Replace(path, ".html", ".tried.html", 1)
	must(t, os.WriteFile(tried, []byte(withScript(string(text), script, "</body>")), 0o600))
	_, said, _ := strings.Cut(browse(t, "file://"+tried, "--dump-dom"), `data-said="`)
	said, _, _ = strings.Cut(said, `"`)
	equal(t, "what the page does", said, `opens on findings; The first failed assertion, after request #41An assertion failed; its text is in the output of the test. To show it here, assert with c.TB(t) in place of t.; `+
		`count ; ready yes; styled grid; colored rgb(47, 111, 208); all 41; marks true; refused 1; 1 matches; objects ; detail true; of the operator 35; found 4; objects 1; `+
		`revisions 11; visible true; spec.image: &quot;&lt;/script&gt;&lt;b&gt;image-26&quot; → &quot;&lt;/script&gt;&lt;b&gt;image-29&quot;; `+
		`lanes of Events 0; 1 Normal Scheduled at TIME fakecluster.test 3 times #40the next run is at noon; `+
		`1 Warning Failed at TIME fakecluster.test #41&lt;b&gt;no such image&lt;/b&gt;; to the request true`)
	if *screenshot != "" {
		browse(t, "file://"+path, "--screenshot="+*screenshot)
	}
}

// The page says how many and how long as people do.
func TestThePageWritesFiguresAsPeopleDo(t *testing.T) {
	browser(t)
	figures := func(data, script string) string {
		t.Helper()
		var d report.Data
		must(t, json.Unmarshal([]byte(data), &d))
		var b bytes.Buffer
		must(t, report.Write(&b, &d, ""))
		path := filepath.Join(t.TempDir(), "page.html")
		must(t, os.WriteFile(path, []byte(withScript(b.String(), "document.body.dataset.said = "+script, "</body>")), 0o600))
		_, said, _ := strings.Cut(browse(t, "file://"+path, "--dump-dom"), `data-said="`)
		said, _, _ = strings.Cut(said, `"`)
		return said
	}
	const summary = `document.getElementById("summary").textContent + "; "`
	equal(t, "none, and a failed assertion", figures(`{"failure": {"m": "a_test.go:7: no"}}`, summary+`+ document.querySelector("section.here").id + "; " + document.getElementById("findings").textContent`),
		"0 requests, 0 objects, 0 Events, 1 ms; findings; The first failed assertiona_test.go:7: nono findings")
	var requests []string
	for i, took := range []float64{0, 0.26, 9.96, 10.4, 999, 1000, 1500, 59990, 60000, 3_599_000, 3_600_000, 90_061_000} {
		requests = append(requests, fmt.Sprintf(`{"n": %d, "t": 1, "v": "get", "ms": %v}`, i+1, took))
	}
	equal(t, "one of each, and durations", figures(`{"requests": [`+strings.Join(requests, ",")+`], "objects": [{"name": "a", "revs": []}], "events": [{"of": "a", "t": 61000}]}`,
		summary+`+ [...document.querySelectorAll("#requests tbody td:nth-child(3)")].map(e => e.textContent).reverse().join(", ")`),
		"12 requests, 1 object, 1 Event, 1 min 1 s; 0 ms, 0.3 ms, 10 ms, 10 ms, 999 ms, 1 s, 1.5 s, 59.99 s, 1 min 0 s, 59 min 59 s, 1 h 0 min, 25 h 1 min")
}

// flushedOnce is an answer that ends after its first flush.
type flushedOnce struct {
	http.ResponseWriter
	end func()
}

func (f flushedOnce) FlushError() error {
	defer f.end()
	return http.NewResponseController(f.ResponseWriter).Flush()
}

// The policies of a live page, which are headers as well, let it read its data and its changes.
func TestTheLivePageWorksUnderItsPolicies(t *testing.T) {
	browser(t)
	c := defined(t)
	page := c.ReportPage("live")
	later := sync.OnceFunc(func() { create(t, inDefault(c), cronTab("later")) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/changes" { // the page is there, without this object
			later()
			ctx, end := context.WithCancel(req.Context())
			page.ServeHTTP(flushedOnce{w, end}, req.WithContext(ctx)) // the browser does not end before the stream
			return
		}
		page.ServeHTTP(w, req)
	}))
	defer server.Close()
	dom := browse(t, server.URL+"/", "--dump-dom")
	for _, want := range []string{`data-ready="yes"`, "crontabs.stable.example.com default/later"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page has no %s: %.2000s", want, dom)
		}
	}
}

// A live page keeps what its reader has opened and chosen, and does not move what he looks at.
func TestTheLivePageKeepsWhatIsOpen(t *testing.T) {
	browser(t)
	c := defined(t)
	for i := range 120 {
		create(t, inDefault(c), cronTab(fmt.Sprintf("cron-%03d", i)))
	}
	page := c.ReportPage("live")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/write":
			for i := range 40 {
				create(t, inDefault(c), cronTab(fmt.Sprintf("more-%03d", i)))
			}
		case "/":
			answer := httptest.NewRecorder()
			page.ServeHTTP(answer, req)
			// The test signals changes.
			text := withScript(answer.Body.String(), `window.EventSource = class { constructor() { window.stream = this; } };`, "<body")
			_, _ = io.WriteString(w, withScript(text, `
				const rows = () => document.querySelectorAll("#requests tbody tr:not(.detail)").length, said = [], wait = () => new Promise(done => setTimeout(done, 200));
				(async () => {
					const before = rows(), row = document.querySelectorAll("#requests tbody tr")[50], id = row.id;
					row.click();
					const lane = document.querySelectorAll(".lane")[10], name = lane.dataset.name;
					lane.open = true;
					const client = document.getElementById("client"), option = client.options[1];
					row.scrollIntoView({ block: "center" });
					await wait();
					const was = row.getBoundingClientRect().top;
					await fetch("write");
					stream.onmessage();
					for (let n = 0; n < 50 && rows() === before; n++) await wait();
					const now = document.getElementById(id);
					said.push("more " + (rows() - before), "another row " + (now !== row), "open " + (now.nextSibling.className === "detail"), "moved by " + Math.round(now.getBoundingClientRect().top - was));
					const again = [...document.querySelectorAll(".lane")].find(l => l.dataset.name === name);
					said.push("lane " + again.open + " " + again.querySelectorAll(".revision").length, "list " + (client.options[1] === option));
					document.body.dataset.said = said.join("; ");
				})();
			`, "</body>"))
		default:
			page.ServeHTTP(w, req)
		}
	}))
	defer server.Close()
	_, said, _ := strings.Cut(browse(t, server.URL+"/", "--dump-dom"), `data-said="`)
	said, _, _ = strings.Cut(said, `"`)
	equal(t, "after a change", said, "more 40; another row true; open true; moved by 0; lane true 1; list true")
}

// BenchmarkReport writes the report of 10,000 requests, of which every second has changed an object as
// operators have them.
func BenchmarkReport(b *testing.B) {
	folder := b.TempDir()
	b.Setenv("FAKECLUSTER_REPORT", folder)
	c, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
	for i := range 10 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "B"}, {Name: "C", Value: "D"}}}}}}
		if _, err := client.Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 5000 {
		name := fmt.Sprint("pod-", i%10)
		if _, err := client.Patch(context.Background(), name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, i), metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
		if _, err := client.Get(context.Background(), name, metav1.GetOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	page := c.ReportPage("a benchmark")
	for b.Loop() {
		w := &counting{header: http.Header{}}
		page.ServeHTTP(w, newGet("/"))
		b.ReportMetric(float64(w.bytes)/1e6, "MB")
	}
}

func newGet(path string) *http.Request {
	req, err := http.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		panic(err) // the path is a constant
	}
	return req
}

// counting is an answer of which only the length counts.
type counting struct {
	header http.Header
	bytes  int
}

func (c *counting) Header() http.Header         { return c.header }
func (c *counting) WriteHeader(int)             {}
func (c *counting) Write(p []byte) (int, error) { c.bytes += len(p); return len(p), nil }
