package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// startInBackground starts the host as a process that outlives this one, and prints its first line. What it prints on stderr is in
// the file host.log of its folder.
func (f *hosting) startInBackground(stdout io.Writer) error {
	folder, err := hostFolder()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp(folder, "starting-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"host"}
	if f.listen >= 0 {
		args = append(args, "--listen", strconv.Itoa(f.listen))
	}
	if f.stay {
		args = append(args, "--stay")
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stderr = folder, log
	detach(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_ = os.Rename(log.Name(), filepath.Join(folder, "host.log")) // only for those who look for it
		_, err = io.WriteString(stdout, line)
		return err
	}
	_ = cmd.Wait() // the log says why
	defer os.Remove(log.Name())
	said, _ := os.ReadFile(log.Name())
	return fmt.Errorf("in the background: %s", strings.TrimPrefix(strings.TrimSpace(string(said)), "fakecluster: host: "))
}
