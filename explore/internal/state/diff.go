package state

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// context is how many equal lines are shown around a difference.
const context = 3

// Diff returns two objects as YAML, line by line: a minus stands before a line that only the first has, and a plus before
// one that only the second has. A nil object has no lines.
func Diff(want, got map[string]any) string {
	a, b := lines(want), lines(got)
	// length[i][j] is that of the longest common subsequence of a[i:] and b[j:].
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	return strings.Join(near(lines), "\n")
}

// near keeps the lines that differ, those around them, and the lines without indent, which say where they are.
func near(lines []string) (kept []string) {
	keep := make([]bool, len(lines))
	for i, line := range lines {
		if line[0] == ' ' {
			continue
		}
		for j := max(0, i-context); j <= min(len(lines)-1, i+context); j++ {
			keep[j] = true
		}
		// The fields that the line is below.
		for j, indent := i-1, indentOf(line); j >= 0 && indent > 0; j-- {
			if depth := indentOf(lines[j]); depth < indent && lines[j][0] == ' ' {
				keep[j], indent = true, depth
			}
		}
	}
	for i, line := range lines {
		if keep[i] {
			kept = append(kept, line)
		} else if i > 0 && keep[i-1] {
			kept = append(kept, "  …")
		}
	}
	return kept
}

func indentOf(line string) int { return len(line[2:]) - len(strings.TrimLeft(line[2:], " ")) }

func lines(object map[string]any) []string {
	if object == nil {
		return nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
