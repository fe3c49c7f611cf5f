package syntax

import (
	"fmt"
	"slices"
)

// Suggestion returns the question whether one of the valid words was meant by an invalid
// word. It is empty if none of them is similar.
func Suggestion(word string, valid []string) string {
	const longest = 64 // of a word that somebody has typed
	if len(word) > longest {
		return ""
	}
	best, distance := "", len(word)/3+1 // more slips than that make another word
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

// editDistance returns the edit distance of two words: how many letters have to be added, removed,
// replaced, or swapped with a neighbour to turn a into b.
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
