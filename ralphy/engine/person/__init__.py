"""What people say, taken into the record: approvals, answers, changes of the stories, starting over."""
