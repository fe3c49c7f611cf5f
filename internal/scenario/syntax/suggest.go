package syntax

import (
	"fmt"
	"slices"
)

// Suggestion returns "; did you mean X?" with the valid word that is most similar to an invalid one. It is empty if none
// is similar.
func Suggestion(word string, valid []string) string {
	const longest = 64 // words that are longer are not compared
	if len(word) > longest {
		return ""
	}
	best, distance := "", len(word)/3+1 // with more edits it is another word
	for _, k := range slices.Sorted(slices.Values(valid)) {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance returns how many letters must be added, removed, replaced, or swapped with a neighbour to turn a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
