package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Cgroups gives access to the machine's control groups. Root is the directory in which the hierarchies of cgroup
// version 1, or the single hierarchy of version 2, are mounted.
type Cgroups struct{ Root string }

// Host is the directory in which Linux distributions mount control groups.
var Host = Cgroups{Root: "/sys/fs/cgroup"}

// nodeControllers are the cgroup version 2 controllers that the kubelet and the container runtime use. In version 2 a
// group has only those controllers that its parent enables.
var nodeControllers = []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"}

// shelter is the name of a cgroup version 2 group for the processes of the root group. A group that enables controllers
// for its children must not contain processes itself. The machine's own root group is exempt from this rule, but the
// root group of a container is not. In a container, its processes therefore move to the shelter.
const shelter = "sparklocal-shelter"

func (c Cgroups) unified() bool {
	_, err := os.Stat(filepath.Join(c.Root, "cgroup.controllers"))
	return err == nil
}

// hierarchies returns the directories that may contain a group. With cgroup version 2, this is the root. With version
// 1, these are all hierarchies of version 1 and, if it is mounted, a version 2 hierarchy without controllers. runc
// creates groups in that hierarchy too, and they must be removed with the others.
func (c Cgroups) hierarchies() ([]string, error) {
	if c.unified() {
		return []string{c.Root}, nil
	}

	entries, err := os.ReadDir(c.Root)
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}

	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(c.Root, e.Name())
		// Links such as cpu -> cpu,cpuacct are not separate hierarchies.
		if e.IsDir() && exists(filepath.Join(dir, "cgroup.procs")) {
			dirs = append(dirs, dir)
		}
	}

	if len(dirs) == 0 {
		return nil, fmt.Errorf("no control group hierarchy is mounted below %s: mount cgroup version 1 or 2 there", c.Root)
	}
	return dirs, nil
}

// Make creates a group with the given name directly under the root of every hierarchy. The kubelet can create its own
// groups below this group. Make gives the group one share of CPU time for each processor.
func (c Cgroups) Make(name string) error {
	dirs, err := c.hierarchies()
	if err != nil {
		return err
	}

	if c.unified() {
		if err := c.enableControllers(); err != nil {
			return err
		}
	}

	for _, dir := range dirs {
		group := filepath.Join(dir, name)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("control group: %w", err)
		}
		// A new cpuset of version 1 contains no processors and memory nodes, and processes cannot enter such a cpuset.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if c.unified() || !exists(filepath.Join(group, file)) {
				continue
			}

			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return fmt.Errorf("control group: %w", err)
			}

			if err := os.WriteFile(filepath.Join(group, file), b, 0o644); err != nil {
				return fmt.Errorf("control group: %w", err)
			}
		}

		if err := setWeights(group); err != nil {
			return err
		}
	}
	return nil
}

// weights lists the files that contain a group's share of CPU time. The field initial is the kernel's default value in
// such a file: a group with this share gets as much CPU time as one busy process outside the group. The field limit is
// the maximum value that the kernel accepts.
var weights = []struct {
	file           string
	initial, limit int
}{
	{"cpu.shares", 1024, 1 << 18}, // version 1
	{"cpu.weight", 100, 10000},    // version 2
}

// setWeights gives a group as many default shares as the machine has processors. With a single share, all pods of a
// node together would get only as much CPU time as one busy process outside the group, such as a compiler. Programs in
// the pods would then time out.
func setWeights(group string) error {
	for _, w := range weights {
		path := filepath.Join(group, w.file)
		if !exists(path) {
			continue
		}

		weight := min(w.initial*runtime.NumCPU(), w.limit)
		if err := os.WriteFile(path, []byte(strconv.Itoa(weight)), 0o644); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
	}
	return nil
}

// enableControllers enables nodeControllers for the groups below a version 2 root.
func (c Cgroups) enableControllers() error {
	available, err := os.ReadFile(filepath.Join(c.Root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("control groups: %w", err)
	}

	control := filepath.Join(c.Root, "cgroup.subtree_control")

	enabled, err := os.ReadFile(control)
	if err != nil {
		return fmt.Errorf("control groups: %w", err)
	}

	var missing []string
	for _, controller := range nodeControllers {
		if slices.Contains(strings.Fields(string(available)), controller) && !slices.Contains(strings.Fields(string(enabled)), controller) {
			missing = append(missing, "+"+controller)
		}
	}

	if len(missing) == 0 {
		return nil
	}

	request := []byte(strings.Join(missing, " "))

	err = os.WriteFile(control, request, 0o644)
	if errors.Is(err, syscall.EBUSY) {
		if err := c.emptyRoot(); err != nil {
			return err
		}

		err = os.WriteFile(control, request, 0o644)
	}

	if err != nil {
		return fmt.Errorf("control groups: enable %s at the root: %w", request, err)
	}
	return nil
}

// emptyRoot moves the processes of the root group into the shelter and leaves them there. This does not change how the
// processes run.
func (c Cgroups) emptyRoot() error {
	dir := filepath.Join(c.Root, shelter)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("control group: %w", err)
	}

	for _, pid := range processes(c.Root) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("control group: move process %d: %w", pid, err)
		}
	}
	return nil
}

// Processes returns the processes in a group and in all groups below it.
func (c Cgroups) Processes(name string) []int {
	dirs, err := c.hierarchies()
	if err != nil {
		return nil
	}

	var pids []int
	for _, dir := range dirs {
		for _, group := range groups(filepath.Join(dir, name)) {
			pids = append(pids, processes(group)...)
		}
	}

	slices.Sort(pids)
	return slices.Compact(pids)
}

// Remove removes a group and all groups below it from every hierarchy. These groups must not contain processes.
func (c Cgroups) Remove(name string) error {
	dirs, err := c.hierarchies()
	if err != nil {
		return err
	}

	for _, dir := range dirs {
		below := groups(filepath.Join(dir, name))
		// Remove children first, because a group with children cannot be removed. The kernel removes a group's files.
		for _, group := range slices.Backward(below) {
			if err := syscall.Rmdir(group); err != nil && !errors.Is(err, syscall.ENOENT) {
				return fmt.Errorf("control group %s: %w", group, err)
			}
		}
	}
	return nil
}

// groups returns a group and all groups below it, parents first. If the group does not exist, the result is empty.
func groups(root string) []string {
	var found []string
	// An error means that a group disappeared during the walk.
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func processes(group string) []int {
	b, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil {
		return nil
	}

	var pids []int
	for field := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
