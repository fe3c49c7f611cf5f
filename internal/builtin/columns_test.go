package builtin_test

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/builtin"
)

// TestColumnsAreThoseOfARealServer compares the columns of every kind, in both
// directions.
func TestColumnsAreThoseOfARealServer(t *testing.T) {
	text, err := os.ReadFile("testdata/table-columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	var got []string
	c := registry(builtin.Options{})
	for _, g := range c.Groups() {
		for _, r := range g.Resources {
			for _, v := range r.Versions {
				if !v.Served || v.Tables.Convertor == nil {
					continue
				}
				table, err := v.Tables.Convertor.ConvertToTable(context.Background(), v.Codec.New(), &metav1.TableOptions{})
				if err != nil {
					t.Errorf("%s: %v", v.GroupVersionResource(), err)
					continue
				}
				gv := v.GroupVersion().String()
				if gv == "v1" {
					gv = "core/v1"
				}
				got = append(got, fmt.Sprintf("%s %s: %s", gv, r.Names.Plural, columns(table)))
			}
		}
	}
	sort.Strings(want)
	sort.Strings(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-real +got):\n%s", diff)
	}
}

// columns are the columns of a table as the recording has them:
// Name:type[:format][:pPRIORITY].
func columns(table *metav1.Table) string {
	var columns []string
	for _, c := range table.ColumnDefinitions {
		text := c.Name + ":" + c.Type
		if c.Format != "" {
			text += ":" + c.Format
		}
		if c.Priority != 0 {
			text += fmt.Sprintf(":p%d", c.Priority)
		}
		columns = append(columns, text)
	}
	return strings.Join(columns, " | ")
}
