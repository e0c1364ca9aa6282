# Make targets for Ralphy: `make ralphy-help` lists them. Written once by `ralphy init`; yours to edit.
# Safe to include anywhere: your default goal stays, and so does everything that is not named here.
#
#   make loop FEATURE=login                 run until done, or until a person is needed
#   make loop                               the same for all open features, one after the other
#   make docs/features/login/SPEC.md        run as far as the specification
#   make prove FEATURE=login                verify its committed stories again, without an agent
#   make -n loop                            print the command, run nothing
#
# Needing a person (exit code 10) is not a failure: `make loop` says so and succeeds.
# With RALPHY_STRICT_EXIT=1 it fails instead.

ralphy_saved_goal := $(.DEFAULT_GOAL)

RALPHY ?= ralphy
FEATURES_DIR ?= docs/features
FEATURE ?=
# The text of `make reject MESSAGE="the API needs paging"`.
MESSAGE ?=
# Leave out the names that your own Makefile defines.
RALPHY_TARGETS ?= loop status approve reject watch why prove
RALPHY_STRICT_EXIT ?=

# Values reach the shell as they are: $(value) keeps make, the quotes keep the shell from reading them.
ralphy_quote = '$(subst ','\'',$(1))'
ralphy_feature = $(if $(value FEATURE), $(call ralphy_quote,$(value FEATURE)))
ralphy_message = $(if $(value MESSAGE), -m $(call ralphy_quote,$(value MESSAGE)))
ralphy_named = $(if $(value FEATURE), FEATURE=$(value FEATURE))
ralphy_strict = $(filter-out 0,$(RALPHY_STRICT_EXIT))
# In a new terminal the shell finds no `ralphy`: then a person hears what to do.
ralphy_lost = $(firstword $(RALPHY)) is not on PATH in this terminal: activate the environment it is installed in, or install it for all terminals (in its clone: pipx install .)
ralphy_failed = if test $$code -eq 127; then echo $(call ralphy_quote,$(ralphy_lost)) >&2; fi; exit $$code
ralphy_answer = ; then `make approve$(ralphy_named)` or `make reject$(ralphy_named) MESSAGE="what should change"`
ralphy_next = waiting for a person: `make why$(ralphy_named)` says for what$(if $(value FEATURE),$(ralphy_answer), and what to type)
ralphy_waits = { code=$$?; test $$code -eq 10 || { $(ralphy_failed); }; echo $(call ralphy_quote,ralphy: $(ralphy_next)) >&2; $(if $(ralphy_strict),exit 10; )}
ralphy_or = || { code=$$?; $(ralphy_failed); }
ralphy_absent = ralphy: $@ is not there yet: `$(RALPHY) why $*` says why.
ralphy_made = test -f $(call ralphy_quote,$@) || { echo $(call ralphy_quote,$(ralphy_absent)) >&2; exit 1; }
ralphy_up_to = $(RALPHY) loop $(call ralphy_quote,$*) --to $(1) || { code=$$?; test $$code -eq 10 || { $(ralphy_failed); }; }; $(ralphy_made)

.PHONY: $(RALPHY_TARGETS) ralphy-help ralphy-force

ralphy-help: ; @echo 'Ralphy: make [$(RALPHY_TARGETS)] FEATURE=name, or make $(FEATURES_DIR)/name/SPEC.md, $(FEATURES_DIR)/name/QA_REPORT.md'

$(filter loop,$(RALPHY_TARGETS)): ; @$(RALPHY) loop$(ralphy_feature) || $(ralphy_waits)

$(filter reject,$(RALPHY_TARGETS)): ; @$(RALPHY) reject$(ralphy_feature)$(ralphy_message) $(ralphy_or)

$(filter-out loop reject,$(RALPHY_TARGETS)): ; @$(RALPHY) $@$(ralphy_feature) $(ralphy_or)

# An artifact is made when it is there, whether or not its gate still waits for a person.
$(FEATURES_DIR)/%/SPEC.md: $(FEATURES_DIR)/%/PRD.md ; @$(call ralphy_up_to,spec)

# What the report depends on is the code's content, which Ralphy knows by digest and make cannot: always ask.
$(FEATURES_DIR)/%/QA_REPORT.md: ralphy-force ; @$(call ralphy_up_to,qa)

ralphy-force:

# Interrupted or failed, make deletes a target it believes half made; these are whole, or a person's.
.PRECIOUS: $(FEATURES_DIR)/%/SPEC.md $(FEATURES_DIR)/%/QA_REPORT.md

.DEFAULT_GOAL := $(ralphy_saved_goal)
