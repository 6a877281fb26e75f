"""Answer one turn."""

from conduck_service.demo_engine.engine import main

if __name__ == "__main__":
    main()
