package images

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// expr works out a number, an operator and a number. The exit code is 1 if the result is 0, as that of expr.
func expr(_ context.Context, c *workloads.ExecCommand) error {
	var a, b, result int
	var operator string
	if _, err := fmt.Sscanf(strings.Join(c.Args[1:], " "), "%d %s %d", &a, &operator, &b); err != nil {
		fmt.Fprintln(c.Stderr, "expr: syntax error")
		return workloads.Exit(2)
	}
	switch operator {
	case "+":
		result = a + b
	case "-":
		result = a - b
	case "*":
		result = a * b
	case "/", "%":
		if b == 0 {
			fmt.Fprintln(c.Stderr, "expr: division by zero")
			return workloads.Exit(2)
		}
		if result = a / b; operator == "%" {
			result = a % b
		}
	}
	fmt.Fprintln(c.Stdout, result)
	if result == 0 {
		return workloads.Exit(1)
	}
	return nil
}

// identity returns the user and the groups that the specification gives to the container.
func identity(c *workloads.Container) (user, group int64, groups []int64) {
	if s := c.Pod.Spec.SecurityContext; s != nil {
		user, group, groups = deref(s.RunAsUser, 0), deref(s.RunAsGroup, 0), slices.Clone(s.SupplementalGroups)
		if s.FSGroup != nil {
			groups = append(groups, *s.FSGroup)
		}
	}
	if s := securityOf(c); s != nil {
		user, group = deref(s.RunAsUser, user), deref(s.RunAsGroup, group)
	}
	return user, group, groups
}

func securityOf(c *workloads.Container) *corev1.SecurityContext {
	for _, spec := range slices.Concat(c.Pod.Spec.InitContainers, c.Pod.Spec.Containers) {
		if spec.Name == c.Name {
			return spec.SecurityContext
		}
	}
	return nil
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// wc counts the lines of a file.
func wc(_ context.Context, c *workloads.ExecCommand) error {
	name := c.Args[len(c.Args)-1]
	content, err := c.Container.ReadFile(name)
	if err != nil {
		fmt.Fprintln(c.Stderr, "wc:", err)
		return workloads.Exit(1)
	}
	fmt.Fprintln(c.Stdout, strings.Count(string(content), "\n"), name)
	return nil
}

// awk runs the program {print $n}.
func awk(_ context.Context, c *workloads.ExecCommand) error {
	var n int
	if _, err := fmt.Sscanf(c.Args[len(c.Args)-1], "{print $%d}", &n); err != nil {
		fmt.Fprintln(c.Stderr, "awk: the only program is {print $n}")
		return workloads.Exit(2)
	}
	for lines := bufio.NewScanner(c.Stdin); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); n <= len(fields) {
			fmt.Fprintln(c.Stdout, fields[n-1])
		}
	}
	return nil
}

// cut prints the field n of lines, by -fn: a line without tabs is one field.
func cut(_ context.Context, c *workloads.ExecCommand) error {
	var n int
	if _, err := fmt.Sscanf(strings.Join(c.Args[1:], " "), "-f%d", &n); err != nil || n < 1 {
		fmt.Fprintln(c.Stderr, "cut: the only option is -f with a number")
		return workloads.Exit(2)
	}
	for lines := bufio.NewScanner(c.Stdin); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		switch {
		case len(fields) == 1:
			fmt.Fprintln(c.Stdout, lines.Text())
		case n <= len(fields):
			fmt.Fprintln(c.Stdout, fields[n-1])
		default:
			fmt.Fprintln(c.Stdout)
		}
	}
	return nil
}

// seq prints the numbers between two.
func seq(_ context.Context, c *workloads.ExecCommand) error {
	first, last := 1, 0
	_, err := fmt.Sscan(c.Args[len(c.Args)-1], &last)
	if len(c.Args) > 2 && err == nil {
		_, err = fmt.Sscan(c.Args[1], &first)
	}
	for ; err == nil && first <= last; first++ {
		fmt.Fprintln(c.Stdout, first)
	}
	return err
}

// find prints the names of files and of all that is in them.
func find(_ context.Context, c *workloads.ExecCommand) error {
	for _, name := range c.Args[1:] {
		top := strings.Trim(path.Clean("/"+name), "/")
		err := fs.WalkDir(c.Container.FS(), cmp.Or(top, "."), func(file string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "/"+strings.TrimPrefix(file, "."))
			return nil
		})
		if err != nil {
			fmt.Fprintln(c.Stderr, "find:", err)
			return workloads.Exit(1)
		}
	}
	return nil
}

// tail prints a file. With -f it goes on until SIGTERM.
func tail(ctx context.Context, c *workloads.ExecCommand) error {
	if name := c.Args[len(c.Args)-1]; name != "/dev/null" {
		content, err := c.Container.ReadFile(name)
		if err != nil {
			fmt.Fprintln(c.Stderr, "tail:", err)
			return workloads.Exit(1)
		}
		_, _ = c.Stdout.Write(content)
	}
	if slices.Contains(c.Args, "-f") {
		<-ctx.Done()
	}
	return nil
}

// sysctl prints what the Pod sets.
func sysctl(_ context.Context, c *workloads.ExecCommand) error {
	name := c.Args[len(c.Args)-1]
	dotted := strings.ReplaceAll(name, "/", ".") // sysctl takes both, and so does a Pod
	if s := c.Container.Pod.Spec.SecurityContext; s != nil {
		for _, set := range s.Sysctls {
			if strings.ReplaceAll(set.Name, "/", ".") == dotted {
				fmt.Fprintln(c.Stdout, dotted, "=", set.Value)
				return nil
			}
		}
	}
	fmt.Fprintf(c.Stderr, "sysctl: cannot stat /proc/sys/%s: No such file or directory\n", strings.ReplaceAll(name, ".", "/"))
	return workloads.Exit(1)
}

// mv moves a file.
func mv(_ context.Context, c *workloads.ExecCommand) error {
	if len(c.Args) < 3 {
		return workloads.Exit(1)
	}
	from, to := c.Args[len(c.Args)-2], c.Args[len(c.Args)-1]
	content, err := c.Container.ReadFile(from)
	if err != nil {
		fmt.Fprintf(c.Stderr, "mv: can't rename '%s': No such file or directory\n", from)
		return workloads.Exit(1)
	}
	if strings.HasSuffix(to, "/") {
		to += path.Base(from)
	}
	if err := c.Container.WriteFile(to, content, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "'%s' -> '%s'\n", from, to)
	return c.Container.Remove(from)
}

// ip refuses to change the network of containers that are not privileged.
func ip(_ context.Context, c *workloads.ExecCommand) error {
	if s := securityOf(c.Container); s != nil && deref(s.Privileged, false) {
		return nil
	}
	fmt.Fprintln(c.Stderr, "ip: RTNETLINK answers: Operation not permitted")
	return workloads.Exit(2)
}

// nonewprivs prints the user that it has after setuid, which is root if escalation is allowed.
func nonewprivs(_ context.Context, c *workloads.ExecCommand) error {
	user, _, _ := identity(c.Container)
	if s := securityOf(c.Container); s == nil || deref(s.AllowPrivilegeEscalation, true) {
		user = 0
	}
	fmt.Fprintf(c.Stdout, "Effective uid: %d\n", user)
	return nil
}

// grep prints the lines of its input, or of files, that match, or with -v those that do not.
func grep(_ context.Context, c *workloads.ExecCommand) error {
	args, quiet, inverted := c.Args[1:], false, false
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		quiet, inverted = quiet || strings.Contains(args[0], "q"), inverted || strings.Contains(args[0], "v")
		args = args[1:]
	}
	pattern, err := regexp.Compile(args[0])
	if err != nil {
		fmt.Fprintln(c.Stderr, "grep:", err)
		return workloads.Exit(2)
	}
	in := c.Stdin
	if len(args) > 1 {
		content, err := c.Container.ReadFile(args[1])
		if err != nil {
			fmt.Fprintln(c.Stderr, "grep:", err)
			return workloads.Exit(2)
		}
		in = io.Reader(strings.NewReader(string(content)))
	}
	found := false
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if pattern.MatchString(lines.Text()) != inverted {
			if found = true; !quiet {
				fmt.Fprintln(c.Stdout, lines.Text())
			}
		}
	}
	if !found {
		return workloads.Exit(1)
	}
	return nil
}
