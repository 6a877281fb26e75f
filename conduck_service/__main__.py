"""Run the operator command with ``python -m conduck_service``."""

from conduck_service.cli.main import main

if __name__ == "__main__":
    main()
