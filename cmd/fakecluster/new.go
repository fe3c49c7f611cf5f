package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// firstScenario is the file that "new scenario" writes, below the line that names the schema for editors. It
// passes unchanged.
const firstScenario = `# Play it:         fakecluster run %[1]s
# In a Go test:    scenarios.Run(t, %[1]q)
# The manual:      go doc github.com/fakecluster/fakecluster/scenarios
scenario: A ConfigMap keeps its data, and its name is unique

# Manifests that are created before the first step, in this order.
# {file: ../config/crd/widgets.yaml} creates those in a file, such as your definition.
setup:
- {apiVersion: v1, kind: Namespace, metadata: {name: team}}

# Requests, and their expected answers. expect has some of the fields.
steps:
- create: &settings
    apiVersion: v1
    kind: ConfigMap
    metadata: {namespace: team, name: settings}
    data: {color: red}
  as: created
- get: {apiVersion: v1, kind: ConfigMap, namespace: team, name: settings}
  expect:
    metadata: {uid: !from created.metadata.uid , labels: !absent }
    data: !only {color: red}
- name: a second one of the same name
  create: *settings
  error: {code: 409, reason: AlreadyExists, message: 'configmaps "settings" already exists'}
---
scenario: The name of a ConfigMap is one of DNS
# A table: the scenario is played once for each case.
cases:
- {name: good, error: !absent }
- {name: Bad, error: {code: 422, reason: Invalid}}
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: !from case.name }}
  error: !from case.error
`

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "new", Short: "Write a first file",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("new: give a subcommand: fakecluster new scenario FILE")}
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "scenario FILE",
		Short: "Write a first scenario file",
		Long: `Write a scenario file that passes and shows the language; change it into your own. Its
first line names the JSON schema, with which editors that have a YAML language server
check and complete the fields. An existing file is not changed.`,
		Example: "  fakecluster new scenario testdata/scenarios/first.yaml\n  fakecluster run testdata/scenarios",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("new scenario: give one file to write")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeFirstScenario(args[0]); err != nil {
				return fmt.Errorf("new scenario: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", args[0])
			return nil
		},
	})
	return cmd
}

func writeFirstScenario(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not overwritten: remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = fmt.Fprintf(file, "# yaml-language-server: $schema=%[2]s\n"+firstScenario, path, syntax.SchemaURL)
	return err
}
