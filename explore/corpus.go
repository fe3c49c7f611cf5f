package explore

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fakecluster/fakecluster/internal/junit"
	"github.com/fakecluster/fakecluster/internal/manifests"
)

// corpusFolder has a folder for each test with the trials of its findings, one in each file.
const corpusFolder = "testdata/explore"

// corpus is the folder of the test.
func (t test) corpus() string {
	return filepath.Join(t.folder, corpusFolder, junit.FileName(t.Name()))
}

// remember writes the trial of a finding to the corpus.
func (t test) remember(f Finding) error {
	folder := t.corpus()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the corpus of findings: %w", err)
	}
	path := filepath.Join(folder, f.file())
	text := fmt.Sprintf("# %s\n%s\n", strings.ReplaceAll(f.What, "\n", " "), f.Trial)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("the corpus of findings: %w", err)
	}
	return nil
}

// file returns the name of the finding's file in a corpus. It is the same for each exploration that finds it.
func (f Finding) file() string {
	return fmt.Sprintf("%s-%.6x", f.Oracle, sha256.Sum256([]byte(f.Trial)))
}

// corpus returns the trials of former findings. It leaves out and logs those that cannot be run, for example
// because their seed is gone.
func (e *operatorExploration) corpus() (kept []trial) {
	files, _ := filepath.Glob(filepath.Join(e.t.corpus(), "*"))
	for _, file := range files {
		text, err := manifests.ReadFile(file)
		if err != nil {
			e.t.Logf("explore: the former finding %s is left out: %v", file, err)
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			tr, err := e.parseTrial(line)
			if err != nil {
				e.t.Logf("explore: the former finding %s is left out: %v", file, err)
				continue
			}
			kept = append(kept, tr)
		}
	}
	return kept
}

// replayCorpus plays the trials of former findings, if the exploration publishes its findings.
func (e *operatorExploration) replayCorpus() {
	if e.publish == nil {
		return
	}
	for _, tr := range e.inShard(e.corpus()) {
		if e.over() {
			return
		}
		e.replay(tr)
	}
}
