package player

import (
	"strings"
)

// tableMediaType asks for the answer as kubectl get does: printed.
const tableMediaType = "application/json;as=Table;g=meta.k8s.io;v=v1"

// Printed is a Table as kubectl prints it: rows of cells, the first of them the names
// of the columns. Columns that kubectl prints only with "-o wide" are left out, unless
// wide. The cells are the values that the server sent. A body that is not a Table is returned unchanged.
func Printed(body any, wide bool) any {
	table, _ := body.(map[string]any)
	if table["kind"] != "Table" {
		return body
	}
	columns, _ := table["columnDefinitions"].([]any)
	var shown []int
	var names []any
	for i, column := range columns {
		definition, _ := column.(map[string]any)
		if priority, _ := definition["priority"].(int64); priority > 0 && !wide {
			continue
		}
		name, _ := definition["name"].(string)
		shown, names = append(shown, i), append(names, strings.ToUpper(name))
	}
	lines := []any{names}
	rows, _ := table["rows"].([]any)
	for _, row := range rows {
		fields, _ := row.(map[string]any)
		cells, _ := fields["cells"].([]any)
		var line []any
		for _, i := range shown {
			if i < len(cells) {
				line = append(line, cells[i])
			}
		}
		lines = append(lines, line)
	}
	return lines
}
