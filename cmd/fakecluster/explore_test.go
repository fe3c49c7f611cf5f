package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shardResult is what -explore.junit writes.
func shardResult(shard, failures string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="TestOperator/a,b"><properties><property name="explore.shard" value="` + shard + `"/><property name="explore.similar" value="c &lt; d in ` + shard + `"/></properties>
<testcase classname="TestOperator/a,b" name="recovers">` + failures + `</testcase></testsuite></testsuites>`
}

func failure(message, id string) string {
	return `<failure message="` + message + `" type="recovers-` + id + `">the report of ` + message + `</failure>`
}

func TestExploreMerge(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		for i, arg := range args {
			if i > 1 && arg[0] != '-' {
				args[i] = filepath.Join(folder, arg)
			}
		}
		status := execute(t.Context(), args, &stdout, &stderr)
		return status, stdout.String() + stderr.String()
	}
	write("results/0/TestOperator.xml", shardResult("0/2", failure("a is lost", "111111111111")))
	write("results/0/TestOperator-recovers-111111111111.html", "the page of a")
	write("results/0/other.html", "the page of a cluster")
	write("results/1/TestOperator.xml", shardResult("1/2", failure("a is lost", "222222222222")+failure("b &lt; c", "333333333333")))
	write("known/TestOperator_a_b/recovers-444444444444", "# a is lost\na trial\n") // another trial of the same finding
	if status, out := run("explore", "merge", "--to", "merged", "--known", "known", "results"); status != succeeded || out != "2 findings, 1 of them new\n" {
		t.Errorf("%d: %s", status, out)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(folder, "merged"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(folder, "merged", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	want := map[string]string{
		"TestOperator-recovers-111111111111.html": "the page of a",
		"junit.xml": `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="TestOperator/a,b" tests="1" failures="1" skipped="0">
    <properties>
      <property name="explore.shard" value="0/2"></property>
      <property name="explore.similar" value="c &lt; d in 0/2"></property>
      <property name="explore.shard" value="1/2"></property>
      <property name="explore.similar" value="c &lt; d in 1/2"></property>
    </properties>
    <testcase classname="TestOperator/a,b" name="recovers">
      <failure message="a is lost" type="recovers-111111111111">the report of a is lost</failure>
      <failure message="b &lt; c" type="recovers-333333333333">the report of b &lt; c</failure>
    </testcase>
  </testsuite>
</testsuites>
`,
		"index.html": `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Exploration: 2 findings, 1 of them new</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color-scheme: light dark }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
</style>
<h1>Exploration: 2 findings, 1 of them new</h1>
<h2>recovers: b &lt; c</h2>
<p>TestOperator/a,b</p>
<pre>the report of b &lt; c</pre>
<h2>recovers: a is lost</h2>
<p>TestOperator/a,b, known, <a href="TestOperator-recovers-111111111111.html">what happened</a></p>
<pre>the report of a is lost</pre>
<h2>Like several of the findings, and not looked at further: 2</h2>
<pre>c &lt; d in 0/2
c &lt; d in 1/2
</pre>
</html>
`,
		"summary.md": "### Exploration: 2 findings, 1 of them new\n" +
			"\n<details><summary><b>recovers</b> (TestOperator/a,b): b &lt; c</summary>\n\n```text\nthe report of b < c\n```\n\n</details>\n" +
			"\n<details><summary><b>recovers</b> (TestOperator/a,b, known): a is lost</summary>\n\n```text\nthe report of a is lost\n```\n\n</details>\n" +
			"\n<details><summary>Like several of the findings, and not looked at further: 2</summary>\n\n```text\nc < d in 0/2\nc < d in 1/2\n```\n\n</details>\n",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	write("results/1/TestOperator.xml", shardResult("1/4", ""))
	if status, out := run("explore", "merge", "--to", "merged", "results"); status != failed || out != "1 finding\nfakecluster: explore merge: "+
		"TestOperator/a,b: there are no results of the shards 1/2; look into the logs of these shards\nTestOperator/a,b: there are no results of the shards 0/4, 2/4, 3/4; look into the logs of these shards\n" {
		t.Errorf("%d: %s", status, out)
	}
	if status, out := run("explore", "merge", "known"); status != failed || out != "fakecluster: explore merge: there are no results in "+filepath.Join(folder, "known")+": run the shards with -explore.junit=DIR\n" {
		t.Errorf("%d: %s", status, out)
	}
	write("broken/a.xml", "<html/>")
	if status, out := run("explore", "merge", "broken"); status != failed || out != "fakecluster: explore merge: "+filepath.Join(folder, "broken", "a.xml")+": not a JUnit file of test suites: expected element type <testsuites> but have <html>\n" {
		t.Errorf("%d: %s", status, out)
	}
	if status, out := run("explore", "merge"); status != wrongUsage || out != "fakecluster: explore merge: give the folders with the results of the shards\n" {
		t.Errorf("%d: %s", status, out)
	}
}
