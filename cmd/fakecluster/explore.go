package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/junit"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/printable"
)

func exploreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explore", Short: "Merge the results of explorations",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("explore: give a subcommand, such as fakecluster explore merge DIR")}
		},
	}
	cmd.AddCommand(mergeCommand())
	return cmd
}

func mergeCommand() *cobra.Command {
	var to string
	var known []string
	cmd := &cobra.Command{
		Use:   "merge [flags] DIR...",
		Short: "Merge the findings of the shards of an exploration",
		Long: `Merge the findings of the shards of an exploration, each a run of go test with
-explore.shard. The folders, with their subfolders, contain the files of -explore.junit
and the pages that FAKECLUSTER_REPORT=DIR writes. The command writes

  junit.xml    a test for each oracle, with the findings of all shards
  index.html   the findings on one page, with links to their own pages
  summary.md   the findings as a comment for a pull request, the new ones first

A finding is new if no file in the folders of --known has it: name the folder
testdata/explore of the main branch. Missing results of a shard are an error.`,
		Example: `  fakecluster explore merge --to merged --known testdata/explore results/
  gh pr comment --body-file merged/summary.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("explore merge: give the folders with the results of the shards")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := mergeExplorations(cmd.OutOrStdout(), to, known, args); err != nil {
				return fmt.Errorf("explore merge: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", ".", "the `folder` to write the merged files to")
	cmd.Flags().StringArrayVar(&known, "known", nil, "a `folder` with known findings, such as testdata/explore of the main branch; may be repeated")
	return cmd
}

// mergedResults has the results of several shards.
type mergedResults struct {
	suites []junit.Suite
	pages  []string        // paths of the pages of findings
	known  map[string]bool // by test and finding
}

// explorationFinding is a finding of an exploration.
type explorationFinding struct {
	Test, Oracle string
	junit.Text
	Page  string // the name of the file with its page; empty: none
	Known bool
}

// Label returns a text that marks known findings.
func (f explorationFinding) Label() string {
	if f.Known {
		return ", known"
	}
	return ""
}

// mergeExplorations merges the results in folders.
func mergeExplorations(stdout io.Writer, to string, known, folders []string) error {
	found := mergedResults{known: map[string]bool{}}
	var suites []junit.Suite
	for _, folder := range folders {
		read, err := found.read(folder)
		if err != nil {
			return err
		}
		suites = append(suites, read...)
	}
	if len(suites) == 0 {
		return fmt.Errorf("there are no results in %s: run the shards with -explore.junit=DIR", strings.Join(folders, ", "))
	}
	for _, folder := range known {
		if err := found.readKnown(folder); err != nil {
			return err
		}
	}
	found.suites = junit.Merge(suites...)
	if err := found.write(to); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout, found.title())
	return errors.Join(err, found.complete())
}

// read reads the files of a folder, except the results of an earlier merge.
func (found *mergedResults) read(folder string) (suites []junit.Suite, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "junit.xml" {
			return err
		}
		switch filepath.Ext(path) {
		case ".html":
			found.pages = append(found.pages, path)
		case ".xml":
			text, err := manifests.ReadFile(path)
			if err != nil {
				return err
			}
			read, err := junit.Read(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			suites = append(suites, read...)
		}
		return nil
	})
	return suites, err
}

// readKnown reads a folder of known findings: the name of a file is the type of the JUnit failure, and its
// first line is the message.
func (found *mergedResults) readKnown(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := manifests.ReadFile(path)
		if err != nil {
			return err
		}
		test := filepath.Base(filepath.Dir(path))
		found.known[test+" "+entry.Name()] = true
		first, _, _ := strings.Cut(string(text), "\n")
		if message, ok := strings.CutPrefix(first, "# "); ok {
			oracle := entry.Name()[:max(0, strings.LastIndex(entry.Name(), "-"))]
			found.known[test+" "+oracle+" "+message] = true
		}
		return nil
	})
}

// findings returns the findings, the new ones first.
func (found *mergedResults) findings() (findings []explorationFinding) {
	for _, s := range found.suites {
		for _, c := range s.Cases {
			for _, f := range c.Failures {
				finding := explorationFinding{Test: s.Name, Oracle: c.Name, Text: f}
				test := junit.FileName(s.Name)
				finding.Known = found.known[test+" "+f.Type] || found.known[test+" "+c.Name+" "+strings.ReplaceAll(f.Message, "\n", " ")]
				if i := found.page(f.Type); i >= 0 {
					finding.Page = filepath.Base(found.pages[i])
				}
				findings = append(findings, finding)
			}
		}
	}
	slices.SortStableFunc(findings, func(a, b explorationFinding) int {
		return cmp.Compare(strconv.FormatBool(a.Known), strconv.FormatBool(b.Known))
	})
	return findings
}

// page returns the index of the page of a finding, or a negative number.
func (found *mergedResults) page(id string) int {
	return slices.IndexFunc(found.pages, func(path string) bool { return id != "" && strings.HasSuffix(path, "-"+id+".html") })
}

// shards returns the indexes of the shards with results, by the number of shards.
func (found *mergedResults) shards(s junit.Suite) map[int][]int {
	there := map[int][]int{}
	for _, p := range s.Properties {
		var index, count int
		if _, err := fmt.Sscanf(p.Value, "%d/%d", &index, &count); err == nil && p.Name == "explore.shard" {
			there[count] = append(there[count], index)
		}
	}
	return there
}

// similar returns the failures that the shards have only listed, because they are like several of their
// findings.
func (found *mergedResults) similar() (similar []string) {
	for _, s := range found.suites {
		for _, p := range s.Properties {
			if p.Name == "explore.similar" {
				similar = append(similar, p.Value)
			}
		}
	}
	return similar
}

// complete returns an error if results of a shard are missing.
func (found *mergedResults) complete() error {
	var errs []error
	for _, s := range found.suites {
		there := found.shards(s)
		for _, count := range slices.Sorted(maps.Keys(there)) {
			var missing []string
			for i := range count {
				if !slices.Contains(there[count], i) {
					missing = append(missing, fmt.Sprintf("%d/%d", i, count))
				}
			}
			if len(missing) > 0 {
				errs = append(errs, fmt.Errorf("%s: there are no results of the shards %s; look into the logs of these shards", s.Name, strings.Join(missing, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// title summarizes the result, such as "3 findings, 1 of them new".
func (found *mergedResults) title() string {
	findings := found.findings()
	fresh := 0
	for _, f := range findings {
		if !f.Known {
			fresh++
		}
	}
	if len(found.known) > 0 {
		return fmt.Sprintf("%s, %d of them new", printable.Count(len(findings), "finding"), fresh)
	}
	return printable.Count(len(findings), "finding")
}

// write writes the three files, and copies the pages of findings.
func (found *mergedResults) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	findings := found.findings()
	var results strings.Builder
	if err := junit.Write(&results, found.suites...); err != nil {
		return err
	}
	var index strings.Builder
	if err := page.Execute(&index, map[string]any{"Title": found.title(), "Missing": found.complete(), "Findings": findings, "Similar": found.similar()}); err != nil {
		return err
	}
	for name, content := range map[string]string{"junit.xml": results.String(), "index.html": index.String(), "summary.md": found.markdown(findings)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, f := range findings {
		if f.Page == "" {
			continue
		}
		content, err := manifests.ReadFile(found.pages[found.page(f.Type)])
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, f.Page), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns the comment for a pull request.
func (found *mergedResults) markdown(findings []explorationFinding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Exploration: %s\n", found.title())
	if err := found.complete(); err != nil {
		fmt.Fprintf(&b, "\n%s\n", err)
	}
	for _, f := range findings {
		fence := strings.Repeat("`", max(3, longestRun(f.Text.Text, '`')+1))
		fmt.Fprintf(&b, "\n<details><summary><b>%s</b> (%s%s): %s</summary>\n\n%stext\n%s\n%s\n\n</details>\n",
			html.EscapeString(f.Oracle), html.EscapeString(f.Test), f.Label(), html.EscapeString(f.Message), fence, f.Text.Text, fence)
	}
	if similar := found.similar(); len(similar) > 0 {
		text := strings.Join(similar, "\n")
		fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
		fmt.Fprintf(&b, "\n<details><summary>Like several of the findings, and not looked at further: %d</summary>\n\n%stext\n%s\n%s\n\n</details>\n", len(similar), fence, text, fence)
	}
	return b.String()
}

// longestRun returns the length of the longest run of a byte.
func longestRun(text string, b byte) (longest int) {
	n := 0
	for i := range len(text) {
		if n++; text[i] != b {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// page is the page of all findings.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Exploration: {{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color-scheme: light dark }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
</style>
<h1>Exploration: {{.Title}}</h1>
{{with .Missing}}<p>{{.}}</p>
{{end}}{{range .Findings}}<h2>{{.Oracle}}: {{.Message}}</h2>
<p>{{.Test}}{{.Label}}{{with .Page}}, <a href="{{.}}">what happened</a>{{end}}</p>
<pre>{{.Text.Text}}</pre>
{{end}}{{with .Similar}}<h2>Like several of the findings, and not looked at further: {{len .}}</h2>
<pre>{{range .}}{{.}}
{{end}}</pre>
{{end}}</html>
`))
