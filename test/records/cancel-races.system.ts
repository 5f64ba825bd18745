import { describeCancelRaces } from './cancel-races.ts';

describeCancelRaces(300);
