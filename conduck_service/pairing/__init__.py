"""The setup code that the app scans: addresses it accepts, the code, its picture."""
